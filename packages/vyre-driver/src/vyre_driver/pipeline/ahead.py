"""A compiled program as a file: the program, and its code for every queue of one device.

    magic · BLAKE3 of the rest · head (JSON) · program (wire form) · one artifact for each queue

An empty artifact stands for the one before it: some devices run one code in all queues.

A process that loads it needs no compiler and no lowering; it needs the device, driver and compiler that it was made
with, and says so if it has another. The version of vyre may be another: what a dispatch must know is in the artifact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from blake3 import blake3

from vyre_driver.checked import Fields, read_json
from vyre_driver.errors import BadArtifact
from vyre_driver.pipeline.artifact import Artifact
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import decode, encode
from vyre_foundation.wire.reader import bytes_of

ANY_VERSION = b"VYRE\x00C"
MAGIC = ANY_VERSION + b"1\n"
_DIGEST = 32
_NAMES = ("backend", "device", "vendor", "driver", "compiler")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledProgram:
    """A program with its compiled code for the queues of one device.

    `program` has the workgroup size that is launched. `device` is the profile's identity, with "" for what does not
    matter to the code. `codes` are artifacts by the names of the device's queues, "" where it has but one. `dialects`
    are those that the program calls, as they were: what a call is made of is in the code, and not in the program.
    """

    target: str
    device: tuple[str, ...]
    program: Program
    ulp_budget: int
    codes: tuple[tuple[str, Artifact], ...]
    dialects: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        """The backend that runs it."""
        return self.device[0]

    def to_bytes(self) -> bytes:
        """The contents of the file: a magic number, the BLAKE3 digest of the rest, and length-prefixed parts."""
        head = {
            "target": self.target,
            "device": self.device,
            "ulp_budget": self.ulp_budget,
            "queues": [queue for queue, _ in self.codes],
            "dialects": self.dialects,
        }
        codes = [code.to_bytes() for _, code in self.codes]
        own = [b"" if code in codes[n - 1 : n] else code for n, code in enumerate(codes)]
        parts = [json.dumps(head).encode(), encode(self.program), *own]
        body = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        return MAGIC + blake3(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, where: str = "") -> CompiledProgram:
        """The compiled program in a file's contents; `BadArtifact` if a byte is not what it was."""
        data = bytes_of(data, "CompiledProgram.from_bytes", "pass the contents of the file")
        body = data[len(MAGIC) + _DIGEST :]
        if not data.startswith(MAGIC):
            of_vyre = data.startswith(ANY_VERSION)
            raise BadArtifact(
                "another version of vyre wrote it" if of_vyre else "it does not begin as one", where=where
            )
        if blake3(body).digest() != data[len(MAGIC) : len(MAGIC) + _DIGEST]:
            fix = "copy the file again, or compile the program again"
            raise BadArtifact("its contents are not those of its digest", fix=fix, where=where)
        try:
            head, program, *codes = _parts(body)
            known = Fields(read_json(head))
            artifacts: list[Artifact] = []
            for code in codes:
                artifacts.append(Artifact.from_bytes(code) if code or not artifacts else artifacts[-1])
            made = cls(
                target=known.text("target"),
                device=known.texts("device"),
                program=decode(program),
                ulp_budget=known.whole("ulp_budget"),
                codes=tuple(zip(known.texts("queues"), artifacts, strict=True)),
                dialects=known.texts("dialects"),
            )
            made._require_parts()
        except (ValueError, LookupError, TypeError, VyreError) as error:
            raise BadArtifact(f"it cannot be read ({error})", where=where) from error
        return made

    def _require_parts(self) -> None:
        """`ValueError` if the parts do not belong together."""
        if len(self.device) != len(_NAMES):
            raise ValueError(f"a device has {len(_NAMES)} names, got {len(self.device)}")
        buffers = (self.program.buffers, self.program.inputs, self.program.outputs)
        expected = [tuple(buffer.name for buffer in some) for some in buffers]
        for queue, code in self.codes:
            made = code.executable
            if [made.declared, made.inputs, made.outputs] != expected:
                raise ValueError(f"the code for the queue {queue!r} is of another program")

    def require_device(self, device: tuple[str, ...]) -> None:
        """`BadArtifact` with everything that is not as it was, if it was made for another device than this one."""
        pairs = zip(_NAMES, self.device, device, strict=True)
        other = [f"{name} {here!r} instead of {made!r}" for name, made, here in pairs if made not in ("", here)]
        if other:
            raise BadArtifact(f"here is {', '.join(other)}", where=self.target)

    def require_dialects(self, dialects: tuple[str, ...]) -> None:
        """`BadArtifact` if the dialects that the program calls are not as they were when it was compiled."""
        if self.dialects != dialects:
            made, here = (" and ".join(map(repr, found)) or "no dialect" for found in (self.dialects, dialects))
            raise BadArtifact(f"it was compiled with {made}, here is {here}", where=self.target)


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
