"""Replay capsules: one dispatch in one file, with what came out of it.

A capsule is a zip archive that any tool opens: ``capsule.json`` (who, how, what differed), ``program.vyre``,
``program.bin`` (the wire form, which is what counts), ``inputs/NN`` and, of a dispatch that returned,
``outputs/NN`` and ``reference/NN``, all in binding order. Its comment is a digest of every byte before it. Nothing is
compressed, so that a capsule takes no more memory than its file has bytes.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkstemp
from typing import BinaryIO

from blake3 import blake3

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.checked import Fields, read_json
from vyre_driver.errors import BadCapsule
from vyre_driver.observe.evidence import config_facts
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program
from vyre_foundation.text import print_program
from vyre_foundation.wire import decode, encode

SCHEMA = 2
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The least time that an archive can hold: equal capsules are equal bytes."""
_COMMENT = b"blake3:"
_DIGITS = 64
_CHUNK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule:
    """One dispatch. `outputs` and `reference_outputs` are by buffer name, empty where nothing was returned."""

    program: Program
    inputs: Mapping[str, bytes]
    config: DispatchConfig
    backend: str
    backend_version: str
    reference: str
    difference: str
    outputs: Mapping[str, bytes] = field(default_factory=dict)
    reference_outputs: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def arguments(self) -> list[bytes]:
        """The inputs in binding order."""
        return [self.inputs[buffer.name] for buffer in self.program.inputs]


def write_capsule(folder: Path, capsule: Capsule) -> Path:
    """Write a capsule into `folder`, under a name made of the program's and a digest; the same one twice is one file.

    The file appears whole or not at all.
    """
    facts = {
        "schema": SCHEMA,
        "backend": capsule.backend,
        "backend_version": capsule.backend_version,
        "reference": capsule.reference,
        "difference": capsule.difference,
        "program": capsule.program.fingerprint(),
        "config": config_facts(capsule.config),
    }
    members = {
        "capsule.json": json.dumps(facts, indent=2, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace"),
        "program.vyre": print_program(capsule.program).encode(),
        "program.bin": encode(capsule.program),
        **_numbered("inputs", capsule.inputs),
        **_numbered("outputs", capsule.outputs),
        **_numbered("reference", capsule.reference_outputs),
    }
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = mkstemp(prefix=".capsule-", dir=folder)
    partial = Path(name)
    try:
        with os.fdopen(handle, "w+b") as file:
            digest = _archive(file, members)
        safe = "".join(c if c.isalnum() else "-" for c in capsule.program.name)[:40]
        path = folder / f"{safe}-{digest[:16]}.capsule.zip"
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def read_capsule(path: Path) -> Capsule:
    """The dispatch that a file holds; `BadCapsule` if it is none, or if a byte of it has changed."""
    try:
        if not path.is_file():
            raise ValueError("it is no regular file" if path.exists() else "there is no such file")
        with path.open("rb") as file:
            _require_digest(file)
            with zipfile.ZipFile(file) as archive:
                return _capsule(_members(archive, path.stat().st_size))
    except Exception as error:  # whatever an archive of other bytes makes its readers raise
        raise BadCapsule(str(path), str(error) or type(error).__name__) from error


# ── the archive ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _archive(file: BinaryIO, members: Mapping[str, bytes]) -> str:
    """Write an archive whose comment is the digest of what stands before; gives the digest."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
        archive.comment = _COMMENT + bytes(_DIGITS)
    digest = _digest(file)
    file.seek(-_DIGITS, os.SEEK_END)
    file.write(digest.encode())
    return digest


def _require_digest(file: BinaryIO) -> None:
    file.seek(0, os.SEEK_END)
    if file.tell() < len(_COMMENT) + _DIGITS:
        raise ValueError("it is too short")
    file.seek(-len(_COMMENT) - _DIGITS, os.SEEK_END)
    comment = file.read()
    if not comment.startswith(_COMMENT):
        raise ValueError(f"it does not end with a digest, as capsules of schema {SCHEMA} do")
    if comment != _COMMENT + _digest(file).encode():
        raise ValueError("a byte of it has changed")


def _digest(file: BinaryIO) -> str:
    """Of all bytes but those of the digest itself."""
    size = file.seek(0, os.SEEK_END) - _DIGITS
    hasher = blake3()
    file.seek(0)
    while size > 0:
        size -= len(chunk := file.read(min(size, _CHUNK)))
        hasher.update(chunk)
    return str(hasher.hexdigest())


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """All members by name; together they take no more than the `size` of the file."""
    listed = archive.infolist()
    for member in listed:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"{member.filename!r} is compressed")
    if sum(member.file_size for member in listed) > size:
        raise ValueError("its members are larger than the file")
    if len({member.filename for member in listed}) != len(listed):
        raise ValueError("two members have one name")
    return {member.filename: archive.read(member) for member in listed}


# ── the members ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _capsule(members: dict[str, bytes]) -> Capsule:
    facts = Fields(read_json(members.pop("capsule.json")))
    facts.whole("schema", SCHEMA, SCHEMA)
    del members["program.vyre"]
    program = decode(members.pop("program.bin"))
    capsule = Capsule(
        program=program,
        inputs=_taken("inputs", program.inputs, members),
        config=_config(facts.fields("config")),
        backend=facts.text("backend"),
        backend_version=facts.text("backend_version"),
        reference=facts.text("reference"),
        difference=facts.text("difference"),
        outputs=_taken("outputs", program.outputs, members, may_lack=True),
        reference_outputs=_taken("reference", program.outputs, members, may_lack=True),
    )
    if members:
        raise ValueError(f"the program has no {min(members)!r}")
    return capsule


def _numbered(kind: str, buffers: Mapping[str, bytes]) -> dict[str, bytes]:
    """Members by position: names of buffers may be more than an archive can hold."""
    return {f"{kind}/{number:02}": data for number, data in enumerate(buffers.values())}


def _taken(
    kind: str, declared: Sequence[Buffer], members: dict[str, bytes], *, may_lack: bool = False
) -> dict[str, bytes]:
    """The contents of `declared`, taken out of the members: of all of them, or of none where that may be."""
    names = [f"{kind}/{number:02}" for number in range(len(declared))]
    if may_lack and not any(name in members for name in names):
        return {}
    return {buffer.name: members.pop(name) for buffer, name in zip(declared, names, strict=True)}


def _config(facts: Fields) -> DispatchConfig:
    """The inverse of `config_facts`."""
    return DispatchConfig(**{name: _setting(facts, name) for name in facts.names()})  # type: ignore[arg-type]


def _setting(facts: Fields, name: str) -> object:
    match name:
        case "profile" | "label":
            return facts.text(name)
        case "ulp_budget" | "max_output_bytes" | "fixpoint_iterations":
            return facts.whole(name)
        case "workgroup_override" | "grid_override":
            return tuple(facts.items(name))
        case "timeout":
            return facts.number(name)
        case "speculation" | "persistent_thread":
            return Preference(facts.text(name))
        case "cooperative":
            return facts.flag(name)
        case _:
            raise ValueError(f"no configuration has {name!r}")
