"""From legalized kernels to LLVM IR."""

from __future__ import annotations

from vyre_driver.engine.port import SourceUnit
from vyre_driver.legalization.lowered import Lowered
from vyre_driver_cpu.printer import print_module
from vyre_driver_cpu.spelling import LANGUAGE, Spellings


def emit(lowered: Lowered, spellings: Spellings) -> SourceUnit:
    """The kernels as one module; a pure function of its arguments."""
    text, names = print_module(lowered, spellings)
    return SourceUnit(text=text, kernels=names, language=LANGUAGE, comment=";")
