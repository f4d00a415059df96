"""From legalized kernels to OpenCL C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vyre_driver import codegen
from vyre_driver.codegen.dialect import CDialect
from vyre_driver.engine.port import SourceUnit
from vyre_driver_opencl.dialect import needs_flat, with_subgroups
from vyre_driver_opencl.spelling import LANGUAGE

if TYPE_CHECKING:
    from vyre_driver.legalization.lowered import Lowered


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
    shape = lowered.source.workgroup_size
    sizes = {kernel.program.subgroup_size for kernel in lowered.kernels} - {None}
    is_flat = False
    for size in sizes:
        assert size is not None
        dialect, is_flat = with_subgroups(dialect, size, shape), needs_flat(size, shape)
    printed = codegen.print_unit(lowered, dialect)
    return OpenClSource(
        text=printed.text,
        kernels=printed.entries,
        language=LANGUAGE,
        options=options,
        places=printed.places,
        is_flat=is_flat,
    )
