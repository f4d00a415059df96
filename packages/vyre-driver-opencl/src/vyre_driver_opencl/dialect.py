"""The spelling table of one device: the words of OpenCL C, cut down to what the device has proven."""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.codegen.dialect import CDialect, Marking
from vyre_driver.codegen.operators import c_casts
from vyre_driver.device.profile import Extent
from vyre_driver.legalization.target import Groups
from vyre_driver_opencl import spelling
from vyre_driver_opencl.probe import Proven, Reported
from vyre_driver_opencl.quirks.hidden_ids import HIDE_SINGLE_IDS
from vyre_driver_opencl.quirks.hidden_negations import HIDE_NEGATIONS
from vyre_driver_opencl.quirks.hidden_signs import HIDE_SIGNS
from vyre_driver_opencl.quirks.unvectorized import UNVECTORIZED, must_stay_scalar
from vyre_foundation.dtype import bool_, f16, f32, u16
from vyre_foundation.ir.expr import IdKind


def dialect_of(name: str, reported: Reported, proven: Proven) -> CDialect:
    """Everything that legalization may use on this device, and nothing else."""
    registers = [bool_, *spelling.INTEGERS, *proven.floats, *((u16,) if f16 in proven.floats else ())]
    integers = {t: name for t, name in spelling.TYPES.items() if not t.is_float}
    from_bool = {(bool_, t): spelling.cast_text(t) for t in proven.floats}
    return CDialect(
        name=name,
        language=spelling.LANGUAGE,
        prelude=spelling.prelude(reported.extensions),
        reserved=spelling.RESERVED,
        reserved_prefixes=spelling.RESERVED_PREFIXES,
        types=integers | {t: spelling.TYPES[t] for t in proven.floats},
        literals={t: spelling.LITERALS[t] for t in registers},
        kernel=spelling.KERNEL,
        function=spelling.FUNCTION if reported.is_cpu else "",
        parameters=spelling.PARAMETERS,
        length_parameter=spelling.LENGTH,
        workgroup=spelling.WORKGROUP,
        constant=spelling.CONSTANT,
        alignment=spelling.ALIGNMENT,
        ids=spelling.IDS,
        index_ids=spelling.INDEX_IDS,
        ops={**spelling.INTEGER_OPS, **proven.ops},
        casts={**c_casts(integers), **from_bool, **proven.casts},
        bitcasts={pair: text for pair, text in spelling.BITCASTS.items() if {*pair} <= set(registers)},
        natives=spelling.NATIVES if f32 in proven.floats else {},
        barriers=spelling.BARRIERS,
        atomics=proven.atomics,
        atomic_stores=proven.atomic_stores,
        subgroups=proven.collectives,
        subgroup_sizes=proven.subgroup_sizes,
        groups=_groups(reported),
        wide_indices=reported.is_cpu,
        loop_versioning=reported.is_cpu,
        passes=(HIDE_SIGNS, HIDE_NEGATIONS, HIDE_SINGLE_IDS) if _groups(reported) is Groups.MIXED else (),
        markings=(Marking(UNVECTORIZED, spelling.NO_VECTORS, must_stay_scalar),)
        if _groups(reported) is Groups.MIXED
        else (),
        rare_loop=_rare_loop(reported),
        serial_loop=spelling.SERIAL_LOOP if _groups(reported) is Groups.MIXED else "",
        rare_end=spelling.RARE_END if reported.is_cpu and not reported.groups_as_loops else "",
        opaque=spelling.OPAQUE if reported.is_cpu and reported.groups_as_loops else "",
        short_loop=spelling.SHORT_LOOP if reported.is_cpu and not reported.groups_as_loops else "",
    )


def _groups(reported: Reported) -> Groups:
    """Compilers for CPUs that do not want loops make vectors of work items, as long as these go the same way."""
    if reported.groups_as_loops:
        return Groups.LOOPS
    return Groups.MIXED if reported.is_cpu else Groups.ITEMS


def _rare_loop(reported: Reported) -> str:
    if reported.groups_as_loops:
        return spelling.RARE_ROLLED_LOOP
    return spelling.RARE_LOOP if reported.is_cpu else ""


def with_subgroups(dialect: CDialect, size: int, workgroup: Extent) -> CDialect:
    """The table for kernels that use subgroups of `size` in workgroups of this shape."""
    required = spelling.REQUIRED_SUBGROUP_SIZE.format(size=size)
    if dialect.markings:
        markings = tuple(replace(marking, text=spelling.NOT_OPTIMIZED) for marking in dialect.markings)
        dialect = replace(dialect, markings=markings, begin=spelling.NO_CONTRACTION)
    if not needs_flat(size, workgroup):
        return replace(dialect, kernel=f"{required} {spelling.KERNEL}")
    x, y, _ = workgroup
    linear = "((uint)get_local_id(0))"
    local = (f"({linear} % {x}u)", f"({linear} / {x}u % {y}u)", f"({linear} / {x * y}u)")
    ids = dict(dialect.ids)
    for axis in range(3):
        group = ids[IdKind.WORKGROUP_ID, axis]
        ids[IdKind.LOCAL_ID, axis] = local[axis]
        ids[IdKind.GLOBAL_ID, axis] = f"({group} * {workgroup[axis]}u + {local[axis]})"
    return replace(dialect, kernel=f"{required} {spelling.FLAT}", ids=ids, index_ids={})


def needs_flat(size: int, workgroup: Extent) -> bool:
    """Whether the workgroup must have one dimension: a subgroup does not go on in the next row of another."""
    return workgroup[0] % size != 0
