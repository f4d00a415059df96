"""Loaded programs as bytes, to be loaded again by the same runtime in another process.

PoCL compiles a kernel for its workgroup when it first runs, so its binary is taken after that: then it holds the
machine code, and a program made from it runs at once. Before, it would hold the compiler's intermediate form alone.
"""

from __future__ import annotations

import json
from typing import Any

import pyopencl as cl

from vyre_driver.checked import Fields, read_json
from vyre_driver_opencl.compiler import BuildFailed, load
from vyre_driver_opencl.launch import Module
from vyre_driver_opencl.queues import WorkQueue


def to_bytes(module: Module) -> bytes | None:
    """The module's kernels, and the runtime's binary of its program; None where the runtime gives none."""
    # A program belongs to all devices of its context, and is built for one.
    given: Any = module.program.get_info(cl.program_info.BINARIES)
    binaries = [binary for binary in given if binary]
    if len(binaries) != 1:
        return None
    head = {"kernels": list(module.kernels), "is_flat": module.is_flat}
    return json.dumps(head).encode() + b"\0" + bytes(binaries[0])


def from_bytes(data: bytes, context: cl.Context, queue: WorkQueue) -> Module:
    """The module that `to_bytes` took; `BuildFailed` or the runtime's error if the runtime refuses it."""
    text, _, binary = data.partition(b"\0")
    try:
        head = Fields(read_json(text))
        kernels, is_flat = head.texts("kernels"), head.flag("is_flat")
    except ValueError as error:
        raise BuildFailed(f"the binary has no head: {error}") from error
    program = load(context, queue.device, binary)
    return Module(program, kernels, queue, is_flat=is_flat)
