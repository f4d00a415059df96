"""Compiled code as bytes: the executable, the emitted text, and what the port's `load` takes."""

from __future__ import annotations

from dataclasses import dataclass

from vyre_driver.pipeline.executable import ExecutableManifest


@dataclass(frozen=True, slots=True)
class Artifact:
    """`source` is the emitted text, for people. `binary` is the port's alone."""

    executable: ExecutableManifest
    source: str
    binary: bytes

    def to_bytes(self) -> bytes:
        """The three parts, each with its length before it as a little-endian u64."""
        parts = (self.executable.to_bytes(), self.source.encode(), self.binary)
        return b"".join([len(part).to_bytes(8, "little") + part for part in parts])

    @classmethod
    def from_bytes(cls, data: bytes) -> Artifact:
        """The artifact that `to_bytes` wrote. ValueError, LookupError or `WireError` for other bytes."""
        parts, rest = [], memoryview(data)
        for _ in range(3):
            size = int.from_bytes(rest[:8], "little")
            parts.append(bytes(rest[8 : 8 + size]))
            if len(parts[-1]) != size:
                raise ValueError("the artifact is cut short")
            rest = rest[8 + size :]
        if rest:
            raise ValueError("the artifact has bytes behind its end")
        return cls(ExecutableManifest.from_bytes(parts[0]), parts[1].decode(), parts[2])
