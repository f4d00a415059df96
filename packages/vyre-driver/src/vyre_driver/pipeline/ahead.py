"""A compiled program as a file: the program, and its code for every queue of one device.

    magic · BLAKE3 of the rest · head (JSON) · program (wire form) · one artifact for each queue

An empty artifact is equal to the one before it, because some devices run the same code in all queues.

A process that loads the file needs no compiler and no lowering. It needs the device, driver and compiler for which the
file was made, and refuses the file otherwise. The version of vyre may differ, because the artifact contains all facts
that a dispatch needs.
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

    `program` has the workgroup size of its launches. `device` is the identity of the profile, with "" for facts on
    which the code does not depend. `codes` has an artifact for each queue by name; the name of a single queue is "".
    `dialects` identifies the dialects that the program calls, because the code contains their compositions.
    """

    target: str
    device: tuple[str, ...]
    program: Program
    ulp_budget: int
    codes: tuple[tuple[str, Artifact], ...]
    dialects: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        """The id of the backend that runs it."""
        return self.device[0]

    def to_bytes(self) -> bytes:
        """Return the contents of the file: a magic number, the BLAKE3 digest of the rest, and length-prefixed parts."""
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
        """Return the compiled program from the contents of a file, or raise `BadArtifact` if a byte was changed."""
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
        """Raise `BadArtifact` if it was made for another device. The error lists all differences."""
        pairs = zip(_NAMES, self.device, device, strict=True)
        other = [f"{name} {here!r} instead of {made!r}" for name, made, here in pairs if made not in ("", here)]
        if other:
            raise BadArtifact(f"here is {', '.join(other)}", where=self.target)

    def require_dialects(self, dialects: tuple[str, ...]) -> None:
        """Raise `BadArtifact` if a dialect that the program calls has changed since it was compiled."""
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
