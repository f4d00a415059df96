"""Loaded code as bytes, for a later process on a CPU with the same features: the names of its kernels, and object code."""

from __future__ import annotations

import json

from vyre_driver.checked import Fields, read_json
from vyre_driver_cpu.compiler import CompileFailed
from vyre_driver_cpu.launch import Module


def to_bytes(module: Module) -> bytes:
    """The module's kernels and its object code."""
    return json.dumps({"kernels": module.names}).encode() + b"\0" + module.code


def from_bytes(data: bytes, queue: int) -> Module:
    """The module that `to_bytes` took; `CompileFailed` for bytes that are none, or code that cannot be linked."""
    text, _, code = data.partition(b"\0")
    try:
        kernels = Fields(read_json(text)).texts("kernels")
    except ValueError as error:
        raise CompileFailed(f"the code has no head: {error}") from error
    return Module(code, kernels, queue)
