"""Object code as bytes, for a later process: what CPU it needs, the names of its kernels, and the code."""

from __future__ import annotations

import json
from collections.abc import Sequence

from vyre_driver.checked import Fields, read_json
from vyre_driver_cpu.compiler import CompileFailed
from vyre_driver_cpu.cpu import Cpu, host
from vyre_driver_cpu.launch import Module


def to_bytes(code: bytes, kernels: Sequence[str], cpu: Cpu) -> bytes:
    """Object code that was made for `cpu`, with the names of its kernels."""
    head = {"triple": cpu.triple, "model": cpu.model, "features": cpu.features, "kernels": list(kernels)}
    return json.dumps(head).encode() + b"\0" + code


def from_bytes(data: bytes, queue: int) -> Module:
    """The module that `to_bytes` took; `CompileFailed` for other bytes, and for code that this CPU cannot run."""
    text, _, code = data.partition(b"\0")
    try:
        head = Fields(read_json(text))
        cpu = Cpu(head.text("triple"), head.text("model"), head.text("features"))
        kernels = head.texts("kernels")
    except ValueError as error:
        raise CompileFailed(f"the code has no head: {error}") from error
    if missing := host().lacks(cpu):
        raise CompileFailed(f"the code is for {cpu.model}, and this CPU lacks {', '.join(missing)}")
    return Module(code, kernels, queue)
