"""Machine code as bytes, to be loaded again without a compiler."""

from __future__ import annotations

import json
from dataclasses import dataclass

from vyre_driver_cuda.compiler import BuildFailed


@dataclass(frozen=True, slots=True)
class Cubin:
    """An ELF file with machine code, and the names of its `kernels` in the order of `Lowered.kernels`."""

    kernels: tuple[str, ...]
    code: bytes

    def to_bytes(self) -> bytes:
        return json.dumps({"kernels": self.kernels}).encode() + b"\0" + self.code

    @classmethod
    def from_bytes(cls, data: bytes) -> Cubin:
        """What `to_bytes` wrote; `BuildFailed` for other bytes."""
        text, _, code = data.partition(b"\0")
        try:
            kernels = tuple(json.loads(text)["kernels"])
        except (ValueError, KeyError, TypeError) as error:
            raise BuildFailed(f"the binary has no head: {error!r}") from error
        if not code.startswith(b"\x7fELF"):
            raise BuildFailed("the binary holds no machine code")
        return cls(kernels, code)
