"""From legalized kernels to OpenCL C."""

from __future__ import annotations

from dataclasses import dataclass

from vyre_driver.engine.port import SourceUnit
from vyre_driver.lower.c.unit import print_unit
from vyre_driver.lower.dialect import CDialect
from vyre_driver.lower.lowered import Lowered
from vyre_driver_opencl.dialect import needs_flat, with_subgroups
from vyre_foundation.ir.expr import Id, IdKind
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Subgroup
from vyre_foundation.ir.walk import program_expressions, statements


@dataclass(frozen=True)
class OpenClSource(SourceUnit):
    """`places` names the statement behind each line. `is_flat`: workgroups are launched with one dimension."""

    places: tuple[str, ...] = ()
    is_flat: bool = False

    def place(self, line: int) -> str:
        """The statement behind a line, counted from 1; "" where there is none."""
        return self.places[line - 1] if 1 <= line <= len(self.places) else ""


def emit(lowered: Lowered, dialect: CDialect, options: tuple[str, ...]) -> OpenClSource:
    """The kernels as one text; a pure function of its arguments."""
    size, shape = lowered.source.subgroup_size, lowered.source.workgroup_size
    is_native = size in dialect.subgroup_sizes and any(_uses_subgroups(kernel.program) for kernel in lowered.kernels)
    if size is not None and is_native:
        dialect = with_subgroups(dialect, size, shape)
    printed = print_unit(lowered, dialect)
    return OpenClSource(
        text=printed.text,
        kernels=printed.entries,
        language="OpenCL C",
        options=options,
        places=printed.places,
        is_flat=size is not None and is_native and needs_flat(size, shape),
    )


def _uses_subgroups(program: Program) -> bool:
    return any(isinstance(s, Subgroup) for s in statements(program.body)) or any(
        isinstance(e, Id) and e.kind is IdKind.SUBGROUP_LANE for e in program_expressions(program)
    )
