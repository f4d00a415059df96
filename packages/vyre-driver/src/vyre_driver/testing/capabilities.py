"""Capabilities as claims: each is used by a small program, and judged by its result.

A backend that claims a capability runs the program with the right result. One that denies it gives the right result by
other means, or refuses with `UnsupportedFeature`; where the configuration demands the capability itself, it refuses. A
capability that no program of the contract can use may not be claimed: nothing would show it.

What an engine has itself stands in its `Target`, which has to agree with its `DeviceProfile`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, ResidentWave
from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver.errors import BackendError, Trapped, UnsupportedFeature
from vyre_driver.legalization.target import Target
from vyre_driver.testing.witnesses import TAG, doubling, trapping
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DType, bf16, f16, f64, i64, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp
from vyre_foundation.ops import OPS

COUNT = 64
LANES = 8
"""The size of subgroups where a profile names none."""
SHARDS = "shards"
"""The name under which a distributed backend counts the parts of launches that it has run."""
COPIES_BESIDE = "copies_beside"
"""The name under which a backend counts copies that it has made while launches were in flight."""
WAVES = 3
SHARED = 1 << 15
"""Bytes of workgroup memory that the language allows at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A launch that needs a capability. `expected` are its outputs, None for the trap of `trapping`."""

    program: Program
    inputs: tuple[bytes, ...]
    expected: tuple[bytes, ...] | None
    config: DispatchConfig = DEFAULT_CONFIG
    demands: bool = False
    """Whether the configuration asks for the capability itself: then nothing else will do."""
    spread: bool = False
    """Whether a backend that claims the capability has to run the launch in several parts, and to count `SHARDS`."""
    beside: bool = False
    """Whether a backend that claims the capability has to copy beside such launches, and to count `COPIES_BESIDE`."""


def _arithmetic(dtype: DType) -> Callable[[DeviceProfile], Use]:
    """x * x + x over small integers, which all types hold exactly."""

    def use(profile: DeviceProfile) -> Use:
        with program(f"uses_{dtype}", 32) as p:
            x = p.read("x", dtype)
            out = p.write("out", dtype, like=x)
            i = p.let(p.global_id(0))
            out[i] = x[i] * x[i] + x[i]
        numbers = np.arange(COUNT) % 15
        expected = (numbers * numbers + numbers).astype(dtype.numpy)
        return Use(program=p.build(), inputs=(numbers.astype(dtype.numpy).tobytes(),), expected=(expected.tobytes(),))

    return use


def _int64(profile: DeviceProfile) -> Use:
    """Products that need all 64 bits."""
    with program("uses_int64", 32) as p:
        x, y = p.read("x", u64), p.read("y", i64)
        product = p.write("product", u64, like=x)
        quotient = p.write("quotient", i64, like=x)
        i = p.let(p.global_id(0))
        product[i] = x[i] * 0x9E3779B97F4A7C15
        quotient[i] = apply(OPS["div"], y[i], 7)
    xs = np.arange(COUNT, dtype=np.uint64) * np.uint64(0x100000001B3)
    ys = (np.arange(COUNT, dtype=np.int64) - 32) * np.int64(2**40 + 1)
    products = xs * np.uint64(0x9E3779B97F4A7C15)
    quotients = np.array([abs(int(y)) // 7 * (1 if y >= 0 else -1) for y in ys], np.int64)
    return Use(
        program=p.build(), inputs=(xs.tobytes(), ys.tobytes()), expected=(products.tobytes(), quotients.tobytes())
    )


def _atomic64(profile: DeviceProfile) -> Use:
    with program("uses_atomic64", 32) as p:
        x, sums = p.read("x", u64), p.read_write("sums", u64, 2)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            sums.atomic_add(i % 2, x[i])
    xs = np.arange(COUNT, dtype=np.uint64) * np.uint64(2**33 + 1)
    start = np.array([1, 2**40], np.uint64)
    expected = start + np.array([xs[0::2].sum(), xs[1::2].sum()], np.uint64)
    inputs = (xs.tobytes(), start.tobytes())
    config = DispatchConfig(grid_override=(COUNT // 32, 1, 1))
    return Use(program=p.build(), inputs=inputs, expected=(expected.tobytes(),), config=config)


def _subgroups(profile: DeviceProfile) -> Use:
    size = profile.subgroup_size or LANES
    with program("uses_subgroups", size * 2, subgroup_size=size) as p:
        x = p.read("x", u32)
        i = p.let(p.global_id(0))
        p.write("out", u32, like=x)[i] = p.subgroup(SubgroupOp.REDUCE_ADD, x[i], None)
    xs = np.arange(size * 4, dtype=np.uint32) * np.uint32(7919)
    sums = xs.reshape(-1, size).sum(axis=1, dtype=np.uint32).repeat(size)
    return Use(program=p.build(), inputs=(xs.tobytes(),), expected=(sums.tobytes(),))


def _shuffles(profile: DeviceProfile) -> Use:
    size = profile.subgroup_size or LANES
    with program("uses_shuffles", size * 2, subgroup_size=size) as p:
        x, lanes = p.read("x", u32), p.read("lanes", u32)
        i = p.let(p.global_id(0))
        p.write("out", u32, like=x)[i] = p.subgroup(SubgroupOp.SHUFFLE, x[i], lanes[i])
    xs = np.arange(size * 4, dtype=np.uint32) * np.uint32(7919)
    lanes_ = (np.arange(size * 4, dtype=np.uint32) * np.uint32(5) + np.uint32(3)) % np.uint32(size)
    moved = np.take_along_axis(xs.reshape(-1, size), lanes_.reshape(-1, size).astype(np.intp), axis=1)
    return Use(program=p.build(), inputs=(xs.tobytes(), lanes_.tobytes()), expected=(moved.tobytes(),))


def _traps(profile: DeviceProfile) -> Use:
    witness = trapping()
    return Use(program=witness.program, inputs=tuple(a.tobytes() for a in witness.given), expected=None)


def _grid_sync(profile: DeviceProfile) -> Use:
    """Each workgroup reads what another has written before the barrier, in one launch."""
    with program("uses_grid_sync", 32) as p:
        x = p.read("x", u32)
        between, out = p.scratch("between", u32, COUNT), p.write("out", u32, like=x)
        i = p.let(p.global_id(0))
        between[i] = x[i] * 3
        p.grid_barrier()
        out[i] = between[COUNT - 1 - i]
    xs = np.arange(COUNT, dtype=np.uint32)
    return Use(
        program=p.build(),
        inputs=(xs.tobytes(),),
        expected=((xs[::-1] * np.uint32(3)).tobytes(),),
        config=DispatchConfig(cooperative=True),
        demands=True,
    )


def _indirect(profile: DeviceProfile) -> Use:
    with program("uses_indirect", 4) as p:
        words, out = p.read("words", u32), p.write("out", u32, 16)
        p.indirect_dispatch(words, 1)
        out[p.global_id(0)] = p.num_workgroups(0)
    expected = np.zeros(16, np.uint32)
    expected[:12] = 3
    return Use(program=p.build(), inputs=(np.array([9, 3, 1, 1], np.uint32).tobytes(),), expected=(expected.tobytes(),))


def _spread(profile: DeviceProfile) -> Use:
    witness = doubling(COUNT)
    inputs = tuple(array.tobytes() for array in witness.given)
    config = DispatchConfig(workgroup_override=(COUNT // 4, 1, 1))
    return Use(program=witness.program, inputs=inputs, expected=tuple(witness.expected), config=config, spread=True)


def _beside(profile: DeviceProfile) -> Use:
    witness = doubling(COUNT)
    inputs = tuple(array.tobytes() for array in witness.given)
    program = replace(witness.program, name="uses_copies_beside_launches")
    return Use(program=program, inputs=inputs, expected=tuple(witness.expected), beside=True)


def _overlaps(backend: VyreBackend, use: Use) -> bool:
    """Whether waves over resident memory give the right bytes, and count copies beside launches."""
    before = backend.backend_metric_snapshot().get(COPIES_BESIDE, 0)
    targets = [bytearray(len(use.expected[0])) for _ in range(WAVES)] if use.expected else []
    waves = []
    for target in targets:
        given, made = (backend.allocate_resident(len(target)) for _ in range(2))
        step = ResidentDispatchStep(program=use.program, resources=(given, made))
        part = ResidentReadRange(resource=made, byte_offset=0, byte_len=len(target))
        wave = ResidentWave(uploads=[(given, use.inputs[0])], steps=[step], ranges=[part], targets=[target])
        waves.append(wave)
    backend.dispatch_resident_waves(waves)
    copied = backend.backend_metric_snapshot().get(COPIES_BESIDE, 0) - before
    is_right = all((bytes(target),) == use.expected for target in targets)
    return is_right and copied == 2 * (WAVES - 1)


def _collectives(profile: DeviceProfile) -> Use:
    """Sums and maxima of elements that all workgroups have a part in."""
    with program("uses_collectives", 16) as p:
        x = p.read("x", u32)
        sums, most = p.read_write("sums", u32, 2), p.write("most", u32, 2)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            sums.atomic_add(i % 2, x[i])
            most.atomic_max(i % 2, x[i])
    xs = np.arange(COUNT, dtype=np.uint32) * np.uint32(0x9E3779B9)
    start = np.array([5, 2**31], np.uint32)
    halves = (xs[0::2], xs[1::2])
    added = start + np.array([half.sum(dtype=np.uint32) for half in halves], np.uint32)
    expected = (added.tobytes(), np.array([half.max() for half in halves], np.uint32).tobytes())
    config = DispatchConfig(grid_override=(4, 1, 1))
    inputs = (xs.tobytes(), start.tobytes())
    return Use(program=p.build(), inputs=inputs, expected=expected, config=config, spread=True)


def _mul_high(profile: DeviceProfile) -> Use:
    with program("uses_mul_high", 32) as p:
        x, y = p.read("x", u32), p.read("y", u32)
        out = p.write("out", u32, like=x)
        i = p.let(p.global_id(0))
        out[i] = apply(OPS["mul_high"], x[i], y[i])
    xs = np.arange(COUNT, dtype=np.uint32) * np.uint32(0x9E3779B9)
    ys = xs[::-1].copy()
    high = (xs.astype(np.uint64) * ys >> np.uint64(32)).astype(np.uint32)
    return Use(program=p.build(), inputs=(xs.tobytes(), ys.tobytes()), expected=(high.tobytes(),))


def _shared_memory(profile: DeviceProfile) -> Use:
    """All workgroup memory that the profile promises, if that is not more than `SHARED`."""
    words = max(32, min(profile.max_shared_memory_bytes or 4096, SHARED) // 4)
    with program("uses_shared_memory", 32) as p:
        out, shared = p.write("out", u32, words), p.workgroup("shared", u32, words)
        lane = p.let(p.local_id(0))
        blocks = -(-words // 32)
        with p.range(0, blocks) as n:
            shared[n * 32 + lane] = (n * 32 + lane) * 5
        p.barrier()
        with p.range(0, blocks) as n:
            at = p.let(n * 32 + lane)
            with p.if_(at < words):
                out[at] = shared[words - 1 - at]
    expected = (np.arange(words, dtype=np.uint32) * np.uint32(5))[::-1]
    config = DispatchConfig(grid_override=(1, 1, 1))
    return Use(program=p.build(), inputs=(), expected=(expected.tobytes(),), config=config)


def _forced(config: DispatchConfig) -> Callable[[DeviceProfile], Use]:
    def use(profile: DeviceProfile) -> Use:
        witness = doubling(COUNT)
        inputs = tuple(array.tobytes() for array in witness.given)
        return Use(
            program=witness.program, inputs=inputs, expected=tuple(witness.expected), config=config, demands=True
        )

    return use


# fmt: off
USES: dict[str, Callable[[DeviceProfile], Use]] = {
    "supports_f16":                        _arithmetic(f16),
    "supports_bf16":                       _arithmetic(bf16),
    "supports_f64":                        _arithmetic(f64),
    "supports_int64":                      _int64,
    "supports_atomic64":                   _atomic64,
    "supports_subgroup_ops":               _subgroups,
    "has_subgroup_shuffle":                _shuffles,
    "supports_trap_propagation":           _traps,
    "supports_grid_sync":                  _grid_sync,
    "supports_indirect_dispatch":          _indirect,
    "is_distributed":                      _spread,
    "supports_async_compute":              _beside,
    "supports_distributed_collectives":    _collectives,
    "has_mul_high":                        _mul_high,
    "has_shared_memory":                   _shared_memory,
    "supports_speculation":                _forced(DispatchConfig(speculation=Preference.FORCE)),
    "supports_persistent_thread_dispatch": _forced(DispatchConfig(persistent_thread=Preference.FORCE)),
}
"""A launch for each capability, by the name of the profile's field or of the backend's query."""

UNSHOWN = {
    "supports_tensor_cores":             "no program has a matrix engine's operation",
    "supports_specialization_constants": "parameters become constants before any backend sees them",
}
"""Capabilities that nothing in the contract can use so far, and why: a backend that claims one cannot show it."""
# fmt: on


def claims(backend: VyreBackend, name: str) -> bool:
    """Whether the backend claims a capability, by its profile or by the query of that name."""
    in_profile = bool(getattr(backend.device_profile(), name, False))
    query = getattr(backend, name, None)
    return in_profile or bool(query is not None and query())


def false_claim(backend: VyreBackend, name: str) -> str:
    """Why what a backend says about the capability `name` is not so, in words; "" if it is."""
    is_claimed = claims(backend, name)
    if name in UNSHOWN:
        return f"{name} is claimed, and nothing can show it: {UNSHOWN[name]}" if is_claimed else ""
    use = USES[name](backend.device_profile())
    stated = "claimed" if is_claimed else "denied"
    before = backend.backend_metric_snapshot().get(SHARDS, 0)
    try:
        outputs: list[bytes] | None = [bytes(o) for o in backend.dispatch(use.program, use.inputs, use.config)]
    except UnsupportedFeature as error:
        return f"{name} is claimed, and {use.program.name} is refused: {error.message}" if is_claimed else ""
    except Trapped as trap:
        if use.expected is None and (trap.tag, trap.trap_code, trap.invocation) == (TAG, 7, 7):
            return ""
        return f"{name} is {stated}, and {use.program.name} trapped: {trap.message}"
    except BackendError as error:
        return f"{name} is {stated}, and {use.program.name} raised {type(error).__name__}: {error.message}"
    if use.expected is None:
        return f"{name} is {stated}, and {use.program.name} did not trap"
    if outputs != list(use.expected):
        return f"{name} is {stated}, and {use.program.name} gives {_first(outputs, use.expected)}"
    if is_claimed and use.spread and backend.backend_metric_snapshot().get(SHARDS, 0) < before + 2:
        return (
            f"{name} is claimed, and {use.program.name} did not run in parts: the count {SHARDS!r} has not grown by two"
        )
    if is_claimed and use.beside and not _overlaps(backend, use):
        return f"{name} is claimed, and the copies of {WAVES} waves are wrong, or not beside their launches"
    if not is_claimed and use.demands:
        return f"{name} is denied, and a dispatch that demands it is not refused with UnsupportedFeature"
    return ""


def false_timing(backend: VyreBackend) -> str:
    """Why what a backend says about its clock is not so, in words; "" if it is."""
    profile = backend.device_profile()
    witness = doubling(COUNT)
    measured = backend.dispatch_borrowed_timed(witness.program, witness.given).device_ns is not None
    if profile.supports_device_timestamps and not measured:
        return "supports_device_timestamps is claimed, and a timed dispatch has no time on the device"
    if measured and not profile.supports_device_timestamps:
        return "supports_device_timestamps is denied, and a timed dispatch has a time on the device"
    on_device = (DeviceTimingQuality.DEVICE_TIMESTAMPS, DeviceTimingQuality.HARDWARE_COUNTERS)
    if (profile.timing_quality in on_device) != profile.supports_device_timestamps:
        stated = "claimed" if profile.supports_device_timestamps else "denied"
        return f"timing_quality is {profile.timing_quality.value}, and supports_device_timestamps is {stated}"
    is_counted = profile.timing_quality is DeviceTimingQuality.HARDWARE_COUNTERS
    if is_counted != profile.supports_hardware_counters:
        stated = "claimed" if profile.supports_hardware_counters else "denied"
        return f"timing_quality is {profile.timing_quality.value}, and supports_hardware_counters is {stated}"
    return ""


def mismatches(backend: VyreBackend) -> Iterator[str]:
    """Where the profile of a backend and its queries do not say the same."""
    profile = backend.device_profile()
    for name in sorted({*USES, *UNSHOWN}):
        if hasattr(profile, name) and hasattr(backend, name):
            yield from _unlike(f"the profile's {name}", getattr(profile, name), f"{name}()", getattr(backend, name)())
    # fmt: off
    pairs = {
        "max_workgroup_size":            (profile.max_workgroup_size,            backend.max_workgroup_size()),
        "max_invocations_per_workgroup": (profile.max_invocations_per_workgroup,
                                          backend.max_compute_invocations_per_workgroup()),
        "subgroup_size":                 (profile.subgroup_size,                 backend.subgroup_size()),
        "max_storage_buffer_binding_size": (profile.max_storage_buffer_binding_size or 0,
                                            backend.max_storage_buffer_bytes()),
    }
    # fmt: on
    for name, (field, answer) in pairs.items():
        yield from _unlike(f"the profile's {name}", field, "its query", answer)


def contradictions(profile: DeviceProfile, target: Target) -> Iterator[str]:
    """Where a profile claims what the target has no words for, or denies what it has."""
    # fmt: off
    has = {
        "supports_f16":              f16 in target.arithmetic,
        "supports_bf16":             bf16 in target.arithmetic,
        "supports_f64":              f64 in target.arithmetic,
        "supports_int64":            {u64, i64} <= target.arithmetic,
        "supports_atomic64":         (AtomicOp.ADD, u64) in target.atomics,
        "supports_trap_propagation": target.has_atomic(AtomicOp.MIN, u64),
        "supports_subgroup_ops":     target.subgroups.is_usable,
        "has_subgroup_shuffle":      target.subgroups.is_usable and (SubgroupOp.SHUFFLE, u32) in target.subgroup_ops,
        "supports_grid_sync":        target.grid_barrier,
        "has_mul_high":              ("mul_high", u32) in target.ops,
        "supports_indirect_dispatch": False,  # the engine reads the grid on the host
        "supports_distributed_collectives": False,  # an engine has one device
    } | dict.fromkeys((name for name in UNSHOWN if name in type(profile).__slots__), False)
    # fmt: on
    for name, holds in has.items():
        yield from _unlike(f"the profile's {name}", getattr(profile, name), "the target", holds)
    if target.subgroups.is_usable and profile.subgroup_size not in {None, *target.subgroup_sizes}:
        sizes = ", ".join(map(str, sorted(target.subgroup_sizes)))
        yield f"the profile's subgroup_size is {profile.subgroup_size}, the target's collectives work for {sizes}"


def _unlike(what: str, stated: Any, other: str, answer: Any) -> Iterator[str]:
    if stated != answer:
        yield f"{what} is {stated!r}, {other} says {answer!r}"


def _first(outputs: list[bytes] | None, expected: tuple[bytes, ...]) -> str:
    """The first byte that differs, in words."""
    if outputs is None or [len(o) for o in outputs] != [len(e) for e in expected]:
        return f"outputs of {[len(o) for o in outputs or ()]} bytes, expected {[len(e) for e in expected]}"
    for number, (got, wanted) in enumerate(zip(outputs, expected, strict=True)):
        for byte, (a, b) in enumerate(zip(got, wanted, strict=True)):
            if a != b:
                return f"0x{a:02x} in byte {byte} of output {number}, expected 0x{b:02x}"
    return "the right bytes"
