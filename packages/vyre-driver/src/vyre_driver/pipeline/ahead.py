"""A compiled program as a file: the program, and its code for every queue of one device.

    magic · BLAKE3 of the rest · head (JSON) · program (wire form) · one artifact for each queue

A process that loads it needs no compiler and no lowering; it needs the device, driver and compiler that it was made
with, and says so if it has another. The version of vyre may be another: what a dispatch must know is in the artifact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from blake3 import blake3

from vyre_driver.errors import BadArtifact
from vyre_driver.pipeline.artifact import Artifact
from vyre_foundation.ir.program import Program
from vyre_foundation.record import record
from vyre_foundation.wire import WireError, decode, encode

MAGIC = b"VYRE\x00C1\n"
_DIGEST = 32
_NAMES = ("backend", "device", "vendor", "driver", "compiler")


@record(frozen=True, slots=True, kw_only=True)
class CompiledProgram:
    """`program` has the workgroup size that is launched. `device` is the profile's identity, with "" for what does not
    matter to the code. `codes` are artifacts by the names of the device's queues, "" where it has but one."""

    target: str
    device: tuple[str, ...]
    program: Program
    ulp_budget: int
    codes: tuple[tuple[str, Artifact], ...]

    @property
    def backend(self) -> str:
        """The backend that runs it."""
        return self.device[0]

    def to_bytes(self) -> bytes:
        head = {
            "target": self.target,
            "device": self.device,
            "ulp_budget": self.ulp_budget,
            "queues": [queue for queue, _ in self.codes],
        }
        parts = [json.dumps(head).encode(), encode(self.program), *(code.to_bytes() for _, code in self.codes)]
        body = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        return MAGIC + blake3(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes, where: str = "") -> CompiledProgram:
        """The compiled program in a file's contents; `BadArtifact` if a byte is not what it was."""
        body = data[len(MAGIC) + _DIGEST :]
        if not data.startswith(MAGIC):
            raise BadArtifact("it does not begin as one", where=where)
        if blake3(body).digest() != data[len(MAGIC) : len(MAGIC) + _DIGEST]:
            fix = "copy the file again, or compile the program again"
            raise BadArtifact("its contents are not those of its digest", fix=fix, where=where)
        try:
            head, program, *codes = _parts(body)
            known = json.loads(head)
            return cls(
                target=known["target"],
                device=tuple(known["device"]),
                program=decode(program),
                ulp_budget=known["ulp_budget"],
                codes=tuple(zip(known["queues"], map(Artifact.from_bytes, codes), strict=True)),
            )
        except (ValueError, LookupError, TypeError, WireError) as error:
            raise BadArtifact(f"another version wrote it ({error})", where=where) from error

    def require_device(self, device: tuple[str, ...]) -> None:
        """`BadArtifact` with everything that is not as it was, if it was made for another device than this one."""
        pairs = zip(_NAMES, self.device, device, strict=True)
        other = [f"{name} {here!r} instead of {made!r}" for name, made, here in pairs if made not in ("", here)]
        if other:
            raise BadArtifact(f"here is {', '.join(other)}", where=self.target)


def _parts(body: bytes) -> Iterator[bytes]:
    """What stands behind each length."""
    start = 0
    while start < len(body):
        size = int.from_bytes(body[start : start + 8], "little")
        part = body[start + 8 : start + 8 + size]
        if len(part) != size:
            raise ValueError("it is cut short")
        yield part
        start += 8 + size
