"""A device's facts: what it reports and what it has proven, kept apart, and the profile that follows from both.

A capability is true when the emitter spells it, the device reports it, and a kernel has shown it. Reports alone are
wrong in both directions: a runtime denies subnormals of f16 that it computes exactly, another claims conversions that
it gets wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver.device.queue import Queue
from vyre_driver.errors import BackendUnavailable
from vyre_driver.tune.candidate import Candidate, Variant
from vyre_driver_opencl.api import cl
from vyre_driver_opencl.identity import device_identity
from vyre_driver_opencl.proof.atomics import Atomics, prove_atomics
from vyre_driver_opencl.proof.bench import Bench
from vyre_driver_opencl.proof.pointers import prove_pointers
from vyre_driver_opencl.proof.rows import Row, examine, prove
from vyre_driver_opencl.proof.subgroups import Collectives, prove_collectives, prove_sizes
from vyre_driver_opencl.spelling import (
    ATOMICS,
    BIT_OPS,
    EXACT_DIVISION,
    FLOAT_OPS,
    INTEGER_OPS,
    INTEGERS,
    OTHER_WORDS,
    STANDARD,
    SUBGROUP_SIZES,
    SUBGROUPS,
    cast_text,
)  # fmt: skip
from vyre_foundation.dtype import DType, bool_, f16, f32, f64
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, cast, round_float
from vyre_foundation.record import record

UNCONTRACTED = "uncontracted"
"""The row of no op: a product and a sum in one expression are two roundings."""
ESSENTIAL = (UNCONTRACTED, "add", "sub", "mul", "neg", "eq", "ne", "lt", "le", "gt", "ge")
"""What a float type must prove to be one. Everything else can be made of it."""

ProofKey = tuple[str | DType, DType]
"""(op, operand type) or (type, type to convert to)."""


@record(frozen=True, slots=True, kw_only=True)
class Reported:
    """What the device says of itself. `exact_division`: it knows the compiler option for that.

    `groups_as_loops`: kernels are better written as loops over the workgroup. True for PoCL on CPUs: it vectorises such
    loops, 10 to 20 times faster than what it makes of barriers, and its own treatment of barriers in conditionals loses
    values that live across them.
    """

    extensions: frozenset[str]
    f64: bool
    exact_division: bool
    groups_as_loops: bool = False
    is_cpu: bool = False

    @property
    def f16(self) -> bool:
        return "cl_khr_fp16" in self.extensions

    @property
    def atomic64(self) -> bool:
        return {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"} <= self.extensions

    @property
    def subgroups(self) -> bool:
        needed = {"cl_khr_subgroup_shuffle", "cl_khr_subgroup_ballot", "cl_intel_required_subgroup_size"}
        return needed <= self.extensions

    @property
    def floats(self) -> tuple[DType, ...]:
        return (f32, *((f64,) if self.f64 else ()), *((f16,) if self.f16 else ()))

    @property
    def options(self) -> tuple[str, ...]:
        """How everything is compiled for the device."""
        return (STANDARD, EXACT_DIVISION) if self.exact_division else (STANDARD,)


@record(frozen=True, slots=True, kw_only=True)
class Proven:
    """What kernels have shown: the `floats` that registers hold, and all spellings that had to be shown.

    `plain_pointers`: a kernel may be given any address of host memory. `candidates` are all spellings that were looked
    at, where somebody looked at more than the first exact ones.
    """

    floats: tuple[DType, ...]
    ops: Mapping[tuple[str, DType], str]
    casts: Mapping[tuple[DType, DType], str]
    atomics: Atomics
    subgroup_sizes: frozenset[int]
    collectives: Collectives
    plain_pointers: bool = False
    candidates: tuple[Candidate, ...] = ()


POCL = "Portable Computing Language"


def report(device: cl.Device) -> Reported:
    """Ask the device."""
    extensions = frozenset(device.extensions.split())
    return Reported(
        extensions=extensions,
        f64="cl_khr_fp64" in extensions and bool(device.double_fp_config),
        exact_division=bool(device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT),
        groups_as_loops=device.platform.name == POCL and bool(device.type & cl.device_type.CPU),
        is_cpu=bool(device.type & cl.device_type.CPU),
    )


def prove_device(backend: str, bench: Bench, reported: Reported, *, thorough: bool = False) -> Proven:
    """Run the proofs: about a hundred rows in one program. `BackendUnavailable` for a device that can not do f32.

    `thorough`: prove every candidate, not each row's first exact one alone, and say what is wrong with the others.
    """
    rows = [*_op_rows(reported.floats), *_cast_rows(reported.floats)]
    examined = examine(bench, [*rows, *_other_rows()]) if thorough else {}
    shown = _first_exact(examined) if thorough else prove(bench, rows)
    floats = tuple(t for t in reported.floats if all((op, t) in shown for op in ESSENTIAL))
    if f32 not in floats:
        missing = ", ".join(op for op in ESSENTIAL if (op, f32) not in shown)
        reason = f"the device does not compute f32 exactly (not shown: {missing})"
        raise BackendUnavailable(backend, reason, fix="choose another device or backend")
    types = {bool_, *INTEGERS, *floats}
    sizes = prove_sizes(bench, SUBGROUP_SIZES) if reported.subgroups else frozenset()
    collectives = {key: text for key, text in SUBGROUPS.items() if key[1] in types and sizes}
    return Proven(
        floats=floats,
        candidates=_candidates(examined, types),
        ops={(a, t): text for (a, t), text in shown.items() if isinstance(a, str) and t in types and a != UNCONTRACTED},
        casts={(a, b): text for (a, b), text in shown.items() if isinstance(a, DType) and {a, b} <= types},
        atomics=prove_atomics(bench, {k: s for k, s in ATOMICS.items() if k[1].bits == 32 or reported.atomic64}),
        subgroup_sizes=sizes,
        collectives=prove_collectives(bench, min(sizes), collectives) if sizes else {},
        plain_pointers=reported.is_cpu and prove_pointers(bench),
    )


NEVER_COMPOSED = (*ESSENTIAL, "div", "sqrt", "fma")
"""Ops that compositions are made of, and those whose composition is so long that it need not be timed."""


def _first_exact(examined: Mapping[Row[ProofKey], tuple[str, ...]]) -> dict[ProofKey, str]:
    """The table's own choice for each row that has an exact candidate. Other words are nobody's first choice."""
    shown: dict[ProofKey, str] = {}
    for row, findings in examined.items():
        exact = [text for text, wrong in zip(row.candidates, findings, strict=False) if not wrong]
        op, t = row.key
        is_other = isinstance(op, str) and OTHER_WORDS.get(t, {}).get((op, t)) == row.candidates
        if exact and not is_other:
            shown[row.key] = exact[0]
    return shown


def _candidates(examined: Mapping[Row[ProofKey], tuple[str, ...]], types: Collection[DType]) -> tuple[Candidate, ...]:
    """Every spelling of every op, with the table's own choice chosen, and the compositions."""
    found: list[Candidate] = []
    own = _first_exact(examined)
    for row, findings in examined.items():
        op, t = row.key
        if not isinstance(op, str) or op == UNCONTRACTED or t not in types:
            continue
        operator = INTEGER_OPS.get((op, t))
        chosen = own.get(row.key, operator)
        if operator is not None:
            found.append(Candidate(Variant(op, t, operator), is_chosen=True))
        for text, wrong in zip(row.candidates, findings, strict=False):
            found.append(Candidate(Variant(op, t, text), wrong, is_chosen=text == chosen))
        if op not in NEVER_COMPOSED and operator is None:
            found.append(Candidate(Variant(op, t, None), is_chosen=chosen is None))
    return tuple(found)


def profile(backend: str, device: cl.Device, proven: Proven, queues: tuple[Queue, ...] = ()) -> DeviceProfile:
    """The facts that the engine plans with."""
    x, y, z, *_ = (*device.max_work_item_sizes, 1, 1)
    _, name, vendor, driver, compiler = device_identity(backend, device)
    return DeviceProfile(
        backend=backend,
        device=name,
        vendor=vendor,
        driver_version=driver,
        compiler=compiler,
        supports_subgroup_ops=bool(proven.subgroup_sizes),
        supports_f16=f16 in proven.floats,
        supports_f64=f64 in proven.floats,
        supports_int64=True,
        supports_atomic64=any(t.bits == 64 for _, t in proven.atomics),
        supports_trap_propagation=any(t.bits == 64 for _, t in proven.atomics),
        supports_device_timestamps=True,
        has_mul_high=("mul_high", INTEGERS[0]) in proven.ops,
        has_subgroup_shuffle=bool(proven.collectives),
        has_shared_memory=device.local_mem_type == cl.device_local_mem_type.LOCAL,
        timing_quality=DeviceTimingQuality.DEVICE_TIMESTAMPS,
        max_native_int_width=64,
        max_workgroup_size=(x, y, z),
        max_invocations_per_workgroup=device.max_work_group_size,
        max_shared_memory_bytes=device.local_mem_size,
        max_storage_buffer_binding_size=device.max_mem_alloc_size,
        global_memory_bytes=device.global_mem_size,
        compute_units=device.max_compute_units,
        queues=queues,
    )


def _op_rows(floats: tuple[DType, ...]) -> Iterator[Row[ProofKey]]:
    for t, table in [*((t, BIT_OPS[t]) for t in INTEGERS), *((t, FLOAT_OPS[t]) for t in floats)]:
        for (op, _), candidates in table.items():
            row = OPS[op]
            yield Row((op, t), t, row.arity, row.results[t], candidates, partial(row.evaluate, t))
    for t in floats:
        yield Row((UNCONTRACTED, t), t, 3, t, ("({0} * {1} + {2})",), partial(_product_and_sum, t))


def _other_rows() -> Iterator[Row[ProofKey]]:
    """Words that only a measurement brings in."""
    for t in INTEGERS:
        for (op, _), candidates in OTHER_WORDS[t].items():
            row = OPS[op]
            yield Row((op, t), t, row.arity, row.results[t], candidates, partial(row.evaluate, t))


def _cast_rows(floats: tuple[DType, ...]) -> Iterator[Row[ProofKey]]:
    """All conversions that touch a float; those between integers are the language's own."""
    for t in floats:
        for other in (*INTEGERS, *floats):
            if other is not t:
                yield _cast_row(t, other)
        for integer in INTEGERS:
            yield _cast_row(integer, t)
        yield _cast_row(t, bool_)


def _cast_row(source: DType, target: DType) -> Row[ProofKey]:
    meaning = partial(cast, source, target)
    if source.is_float and target.is_integer:
        return Row((source, target), source, 1, target, (cast_text(target),), meaning, partial(_fits, target))
    return Row((source, target), source, 1, target, (cast_text(target),), meaning)


def _product_and_sum(t: DType, x: float, y: float, z: float) -> Scalar:
    return round_float(t, round_float(t, x * y) + z)


def _fits(target: DType, value: float) -> bool:
    return target.lowest - 1 < value < target.highest + 1
