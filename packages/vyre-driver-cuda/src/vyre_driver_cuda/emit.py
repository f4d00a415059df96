"""From legalized kernels to CUDA C++."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vyre_driver import codegen
from vyre_driver.codegen.dialect import CDialect
from vyre_driver.engine.port import SourceUnit
from vyre_driver_cuda import spelling
from vyre_driver_cuda.dialect import for_unit, has_grid_barrier

if TYPE_CHECKING:
    from vyre_driver.legalization.lowered import Lowered


@dataclass(frozen=True)
class CudaSource(SourceUnit):
    """Source with the statement behind each line, in `places`.

    `cooperative` are the kernels whose workgroups wait for each other.
    """

    places: tuple[str, ...] = ()
    cooperative: tuple[str, ...] = ()

    def place(self, line: int) -> str:
        """The statement behind a line, counted from 1; "" where there is none."""
        return self.places[line - 1] if 1 <= line <= len(self.places) else ""


def emit(lowered: Lowered, dialect: CDialect) -> CudaSource:
    """The kernels as one text; a pure function of its arguments."""
    printed = codegen.print_unit(lowered, for_unit(dialect, lowered))
    named = zip(printed.entries, lowered.kernels, strict=True)
    return CudaSource(
        text=printed.text,
        kernels=printed.entries,
        language=spelling.LANGUAGE,
        options=spelling.OPTIONS,
        places=printed.places,
        cooperative=tuple(name for name, kernel in named if has_grid_barrier(kernel.program)),
    )
