"""What a kernel says of itself and of its launches, as verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from vyre.kernels.compile import CompiledKernel
from vyre_driver.profiling.verdicts import DispatchExplanation, DispatchVerdict, determinism
from vyre_foundation.text import print_program


def explained(kernel: CompiledKernel) -> DispatchExplanation:
    """What is decided about every launch."""
    program = kernel.program
    size = " × ".join(map(str, program.workgroup_size))
    verdicts = (*_of_kernel(kernel), DispatchVerdict("workgroup", size), determinism(program))
    return DispatchExplanation(kernel.name, program.fingerprint(), verdicts, print_program(program))


def explained_launch(
    kernel: CompiledKernel, results: Sequence[tuple[str, tuple[int, ...]]], dispatch: DispatchExplanation
) -> DispatchExplanation:
    """What is decided about a launch with results of these shapes, whose dispatch is explained."""
    shapes = tuple([DispatchVerdict("result", name, f"of the shape {shape}") for name, shape in results])
    verdicts = (*_of_kernel(kernel), *shapes, *dispatch.verdicts)
    return DispatchExplanation(kernel.name, dispatch.fingerprint, verdicts, dispatch.text)


def _of_kernel(kernel: CompiledKernel) -> tuple[DispatchVerdict, ...]:
    """What a kernel says about its launches."""
    shape = ", ".join(map(str, kernel.shape)) or "none"
    return DispatchVerdict("kernel", kernel.name), DispatchVerdict("shape", shape)
