"""What a backend says of itself, both ways: what it claims works, and what it does not claim it refuses, by type.

Each check raises `BrokenClaim`, or lets an error out that no caller should see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from random import Random
from typing import Any

from vyre_conform.worker.admission import admission, changed_dialects, gates, pipelines_over_memory
from vyre_conform.worker.claiming import BrokenClaim, NotExercised, refused, require, told
from vyre_conform.worker.contention import contended_atomics
from vyre_conform.worker.freeing import freed_memory
from vyre_conform.worker.graphs import graphs
from vyre_conform.worker.mechanisms import lies
from vyre_driver.backend.config import DispatchConfig, Extent
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import HostShimBuffer, ResidentDispatchStep, Resource
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import (
    BackendError,
    InvalidInput,
    InvalidLaunch,
    InvalidProgram,
    StaleHandle,
    UnsupportedFeature,
)
from vyre_driver.pipeline.compile import compile
from vyre_driver.testing.capabilities import (
    UNSHOWN,
    USES,
    contradictions,
    false_claim,
    false_timing,
    mismatches,
)
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

Check = Callable[[VyreBackend], None]
LANGUAGE: Extent = (1024, 1024, 64)
"""What the language allows of a workgroup on each axis, and `WORKGROUP` in all."""
WORKGROUP = 1024
MANY = 70_001
"""Workgroups on an axis: more than 16 bits can count, which is what many devices have."""
REFUSALS = (UnsupportedFeature, InvalidLaunch, InvalidProgram)


def _numbers(group: Extent, grid: int = 1) -> Program:
    """Each invocation of a workgroup writes its number; not validated, so that a backend has to refuse."""
    x, y, z = group
    with program("numbers", group) as p:
        out = p.write("out", u32, max(1, x * y * z * grid))
        own = p.let((p.local_id(2) * y + p.local_id(1)) * x + p.local_id(0))
        out[p.workgroup_id(0) * (x * y * z) + own] = own + 1
    return p.build_unchecked()


def _groups(count: int) -> Program:
    """Each workgroup of a grid along one axis writes its number."""
    with program("groups", 1) as p:
        group = p.let(p.workgroup_id(0) + p.workgroup_id(1) + p.workgroup_id(2))
        p.write("out", u32, count)[group] = group + 1
    return p.build()


def _runs(backend: VyreBackend, group: Extent) -> None:
    x, y, z = group
    (out,) = backend.dispatch(_numbers(group), [], DispatchConfig(grid_override=(1, 1, 1)))
    wanted = b"".join((n + 1).to_bytes(4, "little") for n in range(x * y * z))
    require(bytes(out) == wanted, f"a workgroup of {group} is claimed, and gives wrong numbers")


def workgroup_limits(backend: VyreBackend) -> None:
    """The largest workgroup on each axis and over all runs; the next larger one is refused."""
    profile = backend.device_profile()
    most = min(profile.max_invocations_per_workgroup, WORKGROUP)
    for axis, (size, language) in enumerate(zip(profile.max_workgroup_size, LANGUAGE, strict=True)):
        allowed = min(size, most, language)
        _runs(backend, _along(axis, allowed))
        beyond = _along(axis, allowed + 1)
        with _unchanged(backend), refused(f"a workgroup of {beyond}", *REFUSALS):
            backend.dispatch(_numbers(beyond), [], DispatchConfig(grid_override=(1, 1, 1)))


def _along(axis: int, size: int) -> Extent:
    x, y, z = (size if axis == n else 1 for n in range(3))
    return x, y, z


@contextmanager
def _unchanged(backend: VyreBackend) -> Iterator[None]:
    """Nothing is launched and nothing compiled meanwhile, as far as the backend counts that."""
    before = backend.backend_metric_snapshot()
    yield
    after = backend.backend_metric_snapshot()
    for name in ("launches", "compiles", "copies_in"):
        same = after.get(name, 0) == before.get(name, 0)
        require(same, f"the refusal came after the backend's {name} went from {before.get(name)} to {after.get(name)}")


def grid_limits(backend: VyreBackend) -> None:
    """A long grid runs on each axis, to its end, and one that is longer than the device allows is refused.

    A backend that folds grids runs those that are too long on y or z, up to the limit of x.
    """
    profile = backend.device_profile()
    limits = profile.max_workgroups or (MANY, MANY, MANY)
    if profile.folds_grids:
        limits = limits[:1] * 3
    for axis, most in enumerate(limits):
        grid = _along(axis, min(most, MANY))
        (out,) = backend.dispatch(_groups(grid[axis]), [], DispatchConfig(grid_override=grid))
        wanted = b"".join((n + 1).to_bytes(4, "little") for n in range(grid[axis]))
        require(bytes(out) == wanted, f"a grid of {grid} is claimed, and gives wrong numbers")
    for axis, most in enumerate(limits if profile.max_workgroups else ()):
        if most < 2**32 - 1:
            grid = _along(axis, most + 1)
            with _unchanged(backend), refused(f"a grid of {grid}", *REFUSALS):
                backend.dispatch(_numbers((1, 1, 1)), [], DispatchConfig(grid_override=grid))


def profile_agrees(backend: VyreBackend) -> None:
    """The profile says what the queries and, of an engine, the target say, and the facts of subgroups fit together."""
    profile = backend.device_profile()
    words = f"device_profile().backend is {profile.backend!r}, and id() is {backend.id()!r}"
    require(profile.backend == backend.id(), words)
    for words in mismatches(backend):
        require(False, words)
    if isinstance(backend, EngineBackend):
        with backend.session() as device:
            for words in contradictions(device.stated, device.target):
                require(False, words)
    size = profile.subgroup_size
    require(size is None or size.bit_count() == 1, f"subgroups of {size} lanes are claimed, which is no power of two")
    require(profile.has_subgroup_shuffle <= profile.supports_subgroup_ops, "shuffles are claimed without subgroup ops")


def capability(name: str) -> Check:
    """Make the check of one capability.

    It is used, with the right result, or it is denied, and refused where nothing else will do.
    """

    def check(backend: VyreBackend) -> None:
        words = false_claim(backend, name)
        require(not words, words)

    return check


def counts(backend: VyreBackend) -> None:
    """Equal dispatches are launched each time, and counted: no result is taken from an earlier one."""
    group = (8, 1, 1)
    backend.dispatch(_numbers(group), [])
    before = backend.backend_metric_snapshot()
    for _ in range(3):
        backend.dispatch(_numbers(group), [])
    after = backend.backend_metric_snapshot()
    if "launches" in after:
        done = after["launches"] + after.get("replays", 0) - before["launches"] - before.get("replays", 0)
        require(done == 3, f"three dispatches of one launch each were {done} launches")
        require(after.get("compiles") == before.get("compiles"), "a program that is known was compiled again")
    require(all(after[name] >= before[name] for name in before), "a count went down")


def times(backend: VyreBackend) -> None:
    """A time on the device is there if it is claimed, positive, and no longer than the whole."""
    result = backend.dispatch_borrowed_timed(_numbers((64, 1, 1)), [])
    require(result.wall_ns > 0, "the whole dispatch took no time")
    if result.device_ns is not None:
        require(0 < result.device_ns <= result.wall_ns, f"{result.device_ns} ns of {result.wall_ns} were on the device")
    words = false_timing(backend)
    require(not words, words)


def ranges(backend: VyreBackend) -> None:
    """Parts of resident memory are written and read where they are meant: against a model of the bytes."""
    try:
        resource = backend.allocate_resident(MODEL)
    except UnsupportedFeature:
        return
    rng, model = Random(7), bytearray(MODEL)
    _model(backend, resource, model, "new memory")
    for round in range(24):
        start, stop = sorted(rng.randrange(MODEL + 1) for _ in "ab")
        data = rng.randbytes(stop - start)
        model[start:stop] = data
        if round % 2:
            backend.upload_resident_at(resource, start, data)
        else:
            backend.upload_resident_at_many([(resource, start, data)])
        _model(backend, resource, model, f"after an upload of the bytes {start} to {stop}")
        start, stop = sorted(rng.randrange(MODEL + 1) for _ in "ab")
        part, into = bytes(backend.download_resident_range(resource, start, stop - start)), bytearray(stop - start)
        backend.download_resident_range_into(resource, start, stop - start, into)
        require(part == into == model[start:stop], f"a download of the bytes {start} to {stop} gives other bytes")
    backend.free_resident(resource)


MODEL = 96


def _model(backend: VyreBackend, resource: Resource, model: bytearray, when: str) -> None:
    got = bytes(backend.download_resident(resource))
    wrong = [n for n, (a, b) in enumerate(zip(got, model, strict=True)) if a != b]
    if wrong:
        at = wrong[0]
        require(False, f"{when}, byte {at} is 0x{got[at]:02x}, expected 0x{model[at]:02x}")


def stale_handles(backend: VyreBackend) -> None:
    """A resource that was freed, or that another backend made, is refused; where there are none, so is making one."""
    try:
        resource = backend.allocate_resident(64)
    except UnsupportedFeature:
        for call in (
            lambda: backend.dispatch_resident_timed(_numbers((1, 1, 1)), []),
            lambda: backend.download_resident(_foreign("another", 0)),
        ):
            with refused("a resident call", UnsupportedFeature):
                call()
        return
    freed = backend.allocate_resident(64)
    backend.free_resident(freed)
    for what, handle in (("a freed resource", freed), ("another backend's", _foreign("another", resource.generation))):
        with refused(f"{what}: reading", StaleHandle):
            backend.download_resident(handle)
        with refused(f"{what}: writing", StaleHandle):
            backend.upload_resident(handle, bytes(64))
        with _unchanged(backend), refused(f"{what}: a dispatch", StaleHandle):
            backend.dispatch_resident_timed(_numbers((1, 1, 1)), [handle])
    with refused("contents of another size", InvalidInput):
        backend.upload_resident(resource, bytes(63))
    backend.free_resident(resource)


def _foreign(backend: str, generation: int) -> Resource:
    return Resource(backend=backend, id=2**40, generation=generation, byte_len=64)


def forged_handles(backend: VyreBackend) -> None:
    """Check that forged and freed handles are refused on every way in.

    Freed ones have launches over them in the cache. The memory of other handles stays as it is.
    """
    try:
        resource = backend.allocate_resident(64)
    except UnsupportedFeature as error:
        raise NotExercised("it keeps no memory on the device", fix="let it keep some") from error
    freed, numbers = backend.allocate_resident(64), _numbers((16, 1, 1))
    pipeline = compile(backend, numbers)
    for _ in range(2):  # the second time the launch is known
        backend.dispatch_resident_timed(numbers, [freed])
        with suppress(UnsupportedFeature):
            pipeline.dispatch_resident([freed])
    backend.free_resident(freed)
    heir = backend.allocate_resident(64)  # perhaps where the other one was
    forged = {
        "another number": replace(resource, id=resource.id + 2**32),
        "another size": replace(resource, byte_len=128),
        "a later generation": replace(resource, generation=resource.generation + 1),
        "an earlier generation": replace(resource, generation=resource.generation - 1),
        "another backend": replace(resource, backend="another"),
        "one that was freed": freed,
    }
    for what, handle in forged.items():
        step = ResidentDispatchStep(program=numbers, resources=(handle,))
        ways: Mapping[str, Callable[[], Any]] = {
            "a read": lambda: backend.download_resident(handle),  # noqa: B023 - called in this round
            "a write": lambda: backend.upload_resident(handle, bytes(handle.byte_len)),  # noqa: B023
            "a dispatch": lambda: backend.dispatch_resident_timed(numbers, [handle]),  # noqa: B023
            "a dispatch of a pipeline": lambda: pipeline.dispatch_resident([handle]),  # noqa: B023
            "a step": lambda: backend.dispatch_resident_sequence_read_ranges_into([step], [], []),  # noqa: B023
            "a free": lambda: backend.free_resident(handle),  # noqa: B023
        }
        for name, way in ways.items():
            with _unchanged(backend), refused(f"{name} of {what}", StaleHandle, UnsupportedFeature):
                way()
    pipeline.close()
    require(not any(backend.download_resident(resource)), "a refused call has changed what it had no handle to")
    require(not any(backend.download_resident(heir)), "memory that was freed is changed by a call that was refused")
    backend.free_resident(resource)
    backend.free_resident(heir)


def foreign_buffers(backend: VyreBackend) -> None:
    """Device buffers of another backend are refused, also by a backend that has none of its own."""
    with _unchanged(backend), refused("another backend's buffer", StaleHandle):
        backend.dispatch_with_device_buffers(_numbers((1, 1, 1)), [], [HostShimBuffer("another", bytes(4))])


def bad_inputs(backend: VyreBackend) -> None:
    """Too few inputs, too many, and of the wrong size: a typed error on every way in, and nothing runs."""
    with program("copies", 4) as p:
        x = p.read("x", u32, 4)
        p.write("out", u32, 4)[p.global_id(0)] = x[p.global_id(0)]
    built = p.build()
    right = bytes(16)
    ways: Mapping[str, Callable[[list[bytes]], Any]] = {
        "dispatch": lambda inputs: backend.dispatch(built, inputs),
        "borrowed": lambda inputs: backend.dispatch_borrowed(built, inputs),
        "timed": lambda inputs: backend.dispatch_borrowed_timed(built, inputs),
        "asynchronous": lambda inputs: backend.dispatch_async(built, inputs).await_result(),
        "compiled": lambda inputs: compile(backend, built).dispatch(inputs),
    }
    ways["compiled"]([right])  # compiled before anything is counted
    for name, way in ways.items():
        for inputs in ([], [right, right], [bytes(12)], [bytes(15)]):
            with _unlaunched(backend), refused(f"{name} with {[len(i) for i in inputs]} bytes", InvalidInput):
                way(inputs)


@contextmanager
def _unlaunched(backend: VyreBackend) -> Iterator[None]:
    before = backend.backend_metric_snapshot().get("launches", 0)
    yield
    require(backend.backend_metric_snapshot().get("launches", 0) == before, "the refusal came after a launch")


def unsupported_methods(backend: VyreBackend) -> None:
    """What the contract calls optional either works or is refused as unsupported: nothing else comes out."""
    optional: Mapping[str, Callable[[], Any]] = {
        "allocate_resident": lambda: backend.free_resident(backend.allocate_resident(16)),
        "allocate_device_buffer": lambda: backend.free_device_buffer(backend.allocate_device_buffer(16)),
        "compile_native": lambda: compile(backend, _numbers((1, 1, 1))).close(),
        "flush": backend.flush,
        "pipeline_cache_snapshot": backend.pipeline_cache_snapshot,
        "device_lost": backend.device_lost,
    }
    for name, call in optional.items():
        try:
            call()
        except UnsupportedFeature as error:
            named = error.fields.get("backend")
            require(named == backend.id(), f"{name} is refused in the name of {named!r}, and id() is {backend.id()!r}")
        except BackendError as error:
            fix = "refuse with UnsupportedFeature"
            raise BrokenClaim(f"{name} {told(error)}", fix=fix) from error
    require(not backend.device_lost(), "the device is lost after a launch that succeeded")
    require(isinstance(backend.device_profile(), DeviceProfile), "there is no profile")


def flushing(backend: VyreBackend) -> None:
    """After a flush everything that was begun has ended."""
    numbers = _numbers((4, 1, 1), 16)
    pending = [backend.dispatch_async(numbers, [], DispatchConfig(grid_override=(16, 1, 1))) for _ in range(4)]
    backend.flush()
    require(all(one.is_ready() for one in pending), "a dispatch that was submitted before a flush is pending after it")


def mechanisms(backend: VyreBackend) -> None:
    """What the device has itself is what its compiler gets, and nothing else is. Only the engine shows that."""
    if not isinstance(backend, EngineBackend):
        raise NotExercised("it does not show what it emits", fix="build it on the engine, or judge it by its results")
    with backend.session() as device:
        for lie in lies(device):
            raise BrokenClaim(lie, fix="let the target have what the emitter spells, and nothing else")


CLAIMS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        workgroup_limits,
        grid_limits,
        profile_agrees,
        counts,
        times,
        ranges,
        stale_handles,
        forged_handles,
        foreign_buffers,
        bad_inputs,
        unsupported_methods,
        flushing,
        mechanisms,
        admission,
        gates,
        pipelines_over_memory,
        changed_dialects,
        contended_atomics,
        freed_memory,
        graphs,
    )
} | {name: capability(name) for name in (*USES, *UNSHOWN)}
"""Checks by name; each case of the group `claims` is one."""
