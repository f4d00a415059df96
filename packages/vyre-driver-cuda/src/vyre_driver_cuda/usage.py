"""What a kernel takes of the GPU: registers and memory of each thread, as the assembler reports them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import compile_unit
from vyre_driver_cuda.emit import CudaSource

_REPORT = "--ptxas-options=-v"
_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """Resources per thread but for `shared`, the bytes of a block.

    `stack` are bytes of private arrays that registers cannot hold and of spills, `spilled` bytes that are written
    because registers ran out.
    """

    registers: int
    stack: int
    spilled: int
    shared: int = 0


def usage(unit: CudaSource, architecture: Architecture) -> dict[str, ResourceUsage]:
    """The usage of every kernel, by name."""
    log = compile_unit(replace(unit, options=(*unit.options, _REPORT)), architecture).log
    return {name: _read(report) for name, report in _reports(log)}


def _reports(log: str) -> list[tuple[str, str]]:
    """The name of each kernel and what is said behind it."""
    _, *parts = _KERNEL.split(log)
    return list(zip(parts[::2], parts[1::2], strict=True))


def _read(report: str) -> ResourceUsage:
    stack, registers = _STACK.search(report), _REGISTERS.search(report)
    if stack is None or registers is None:
        raise ValueError(f"the assembler's report has another form: {report!r}")
    shared = _SHARED.search(report)
    return ResourceUsage(int(registers[1]), int(stack[1]), int(stack[2]), int(shared[1]) if shared else 0)
