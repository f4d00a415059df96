"""The spelling table of one architecture: the words of CUDA C++, cut down to what its GPUs have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from vyre_driver.codegen.dialect import CDialect
from vyre_driver.codegen.operators import c_casts
from vyre_driver.legalization.target import Target
from vyre_driver_cuda import spelling
from vyre_driver_cuda.architecture import Architecture
from vyre_foundation.dtype import DType, bool_, f16, f32, f64, u16, u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Barrier, Scope, SubgroupOp
from vyre_foundation.ir.walk import program_expressions, statements

if TYPE_CHECKING:
    from vyre_driver.legalization.lowered import Lowered

_Key = TypeVar("_Key")
ONE = (1, 1, 1)


def dialect_of(architecture: Architecture) -> CDialect:
    """Everything that legalization may use on GPUs of this architecture, and nothing else."""
    halves = spelling.HALVES if architecture.has_bf16 else (f16,)
    registers = (bool_, *spelling.INTEGERS, u16, f32, f64, *halves)
    integers = {t: name for t, name in spelling.TYPES.items() if not t.is_float}
    return CDialect(
        name="cuda",
        language=spelling.LANGUAGE,
        prelude=spelling.PRELUDE,
        reserved=spelling.RESERVED,
        types=integers | {t: spelling.TYPES[t] for t in registers},
        literals={t: spelling.LITERALS[t] for t in registers},
        kernel=spelling.KERNEL,
        parameters=spelling.PARAMETERS,
        length_parameter=spelling.LENGTH,
        workgroup=spelling.WORKGROUP,
        constant=spelling.CONSTANT,
        zeros="{}",
        ids=spelling.ids(ONE),
        ops=spelling.OPS | _of(spelling.HALF_OPS, halves),
        casts=c_casts(integers) | spelling.CASTS | _of(spelling.HALF_CASTS, halves),
        bitcasts=spelling.BITCASTS | _of(spelling.HALF_BITCASTS, halves),
        natives=spelling.NATIVES,
        barriers=spelling.BARRIERS,
        atomics=spelling.ATOMICS,
        subgroups=spelling.subgroups(spelling.WARP, ONE, reduces=architecture.has_reductions),
        subgroup_sizes=spelling.SUBGROUP_SIZES,
    )


def without_grid_barriers(dialect: CDialect) -> CDialect:
    """The same for launches that end at every barrier of the grid."""
    return replace(dialect, barriers={Scope.WORKGROUP: dialect.barriers[Scope.WORKGROUP]})


def target_for(architecture: Architecture) -> Target:
    """What legalization may use for this architecture."""
    return dialect_of(architecture).target()


def for_unit(dialect: CDialect, lowered: Lowered) -> CDialect:
    """The table for the kernels of one text: their coordinates, their collectives, the memory of their constants."""
    kernels = [kernel.program for kernel in lowered.kernels]
    sizes, workgroup = {kernel.workgroup_size for kernel in kernels}, lowered.source.workgroup_size
    types = {buffer.dtype for kernel in kernels for buffer in kernel.buffers}
    types |= {node.dtype for kernel in kernels for node in program_expressions(kernel)}
    tables = {b for kernel in kernels for b in kernel.buffers if b.memory is Memory.CONSTANT}
    small = sum(len(b.data or b"") for b in tables) <= spelling.CONSTANT_BYTES
    reduces = (SubgroupOp.REDUCE_ADD, u32) in dialect.subgroups
    size = next((kernel.subgroup_size for kernel in kernels if kernel.subgroup_size), spelling.WARP)
    includes = [line for t, line in spelling.INCLUDES.items() if t in types]
    includes += [spelling.GRID_INCLUDE] if any(map(has_grid_barrier, kernels)) else []
    return replace(
        dialect,
        prelude="".join(includes) + dialect.prelude,
        constant=dialect.constant if small else spelling.LARGE_CONSTANT,
        ids=spelling.ids(workgroup if sizes == {workgroup} else None),
        subgroups=spelling.subgroups(size, workgroup, reduces=reduces),
    )


def has_grid_barrier(kernel: Program) -> bool:
    """Whether the workgroups of a kernel wait for each other: then its launches are cooperative."""
    return any(isinstance(s, Barrier) and s.scope is Scope.GRID for s in statements(kernel.body))


def _of(tables: Mapping[DType, Mapping[_Key, str]], types: Iterable[DType]) -> dict[_Key, str]:
    """The rows of these types together."""
    return {key: text for t in types for key, text in tables[t].items()}
