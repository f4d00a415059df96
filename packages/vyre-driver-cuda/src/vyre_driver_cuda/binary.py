"""Machine code as bytes, to be loaded again without a compiler."""

from __future__ import annotations

import json
from dataclasses import dataclass

from vyre_driver.checked import Fields, read_json
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import BuildFailed, Compiled
from vyre_driver_cuda.emit import CudaSource
from vyre_foundation.errors import VyreError


@dataclass(frozen=True, slots=True)
class Cubin:
    """An ELF file with machine code for an `architecture`.

    `kernels` are their names in the order of `Lowered.kernels`. The blocks of `cooperative` ones wait for each other.
    """

    kernels: tuple[str, ...]
    code: bytes
    architecture: Architecture
    cooperative: tuple[str, ...] = ()

    @classmethod
    def of(cls, unit: CudaSource, compiled: Compiled, architecture: Architecture) -> Cubin:
        """Combine what the compiler gave with the kernels of its source."""
        return cls(unit.kernels, compiled.cubin, architecture, unit.cooperative)

    def to_bytes(self) -> bytes:
        """Encode a JSON head, a zero byte and the code; `from_bytes` decodes it."""
        head = {"kernels": self.kernels, "architecture": str(self.architecture), "cooperative": self.cooperative}
        return json.dumps(head).encode() + b"\0" + self.code

    @classmethod
    def from_bytes(cls, data: bytes) -> Cubin:
        """What `to_bytes` wrote; `BuildFailed` for other bytes."""
        text, _, code = data.partition(b"\0")
        try:
            head = Fields(read_json(text))
            kernels, cooperative = head.texts("kernels"), head.texts("cooperative")
            architecture = Architecture.parse(head.text("architecture"))
        except (ValueError, VyreError) as error:
            raise BuildFailed(f"the binary has no head: {error}") from error
        if not code.startswith(b"\x7fELF"):
            raise BuildFailed("the binary holds no machine code")
        return cls(kernels, code, architecture, cooperative)

    def require(self, gpu: Architecture) -> None:
        """`BuildFailed` if GPUs of this architecture cannot run it."""
        if not self.architecture.runs_on(gpu):
            raise BuildFailed(f"it is machine code for {self.architecture}, and the GPU is {gpu}")
