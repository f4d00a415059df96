"""Replay capsules: one dispatch in one file, with what came out of it.

A capsule is a zip archive that any tool opens: ``capsule.json`` (who, how, what differed, digests), ``program.vyre``,
``program.bin`` (the wire form, which is what counts), ``inputs/NN`` and, of a dispatch that returned,
``outputs/NN`` and ``reference/NN``, all in binding order.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from blake3 import blake3

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.errors import BadCapsule
from vyre_driver.observe.evidence import config_facts
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program
from vyre_foundation.record import record
from vyre_foundation.text import print_program
from vyre_foundation.wire import decode, encode

SCHEMA = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The least time that an archive can hold: equal capsules are equal bytes."""


@record(frozen=True, slots=True, kw_only=True)
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
    members = {
        "program.vyre": print_program(capsule.program).encode(),
        "program.bin": encode(capsule.program),
        **_numbered("inputs", capsule.inputs),
        **_numbered("outputs", capsule.outputs),
        **_numbered("reference", capsule.reference_outputs),
    }
    facts = {
        "schema": SCHEMA,
        "backend": capsule.backend,
        "backend_version": capsule.backend_version,
        "reference": capsule.reference,
        "difference": capsule.difference,
        "program": capsule.program.fingerprint(),
        "config": config_facts(capsule.config),
        "digests": {name: blake3(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(facts, indent=2, sort_keys=True, ensure_ascii=False).encode()
    safe = "".join(c if c.isalnum() else "-" for c in capsule.program.name)[:40]
    path = folder / f"{safe}-{blake3(text).hexdigest()[:16]}.capsule.zip"
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in {"capsule.json": text, **members}.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def read_capsule(path: Path) -> Capsule:
    """The dispatch that a file holds; `BadCapsule` if it is none, or if a byte of it has changed."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        facts = json.loads(members.pop("capsule.json"))
        _require_digests(path, facts, members)
        program = decode(members["program.bin"])
        buffers = {
            kind: _named(kind, declared, members)
            for kind, declared in (
                ("inputs", program.inputs), ("outputs", program.outputs), ("reference", program.outputs),
            )
        }  # fmt: skip
        return Capsule(
            program=program,
            inputs=buffers["inputs"],
            config=_config(facts["config"]),
            backend=facts["backend"],
            backend_version=facts["backend_version"],
            reference=facts["reference"],
            difference=facts["difference"],
            outputs=buffers["outputs"],
            reference_outputs=buffers["reference"],
        )
    except BadCapsule:
        raise
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError, VyreError) as error:
        raise BadCapsule(str(path), str(error) or type(error).__name__) from error


def _numbered(kind: str, buffers: Mapping[str, bytes]) -> dict[str, bytes]:
    """Members by position: names of buffers may be more than an archive can hold."""
    return {f"{kind}/{number:02}": data for number, data in enumerate(buffers.values())}


def _named(kind: str, declared: tuple[Any, ...], members: Mapping[str, bytes]) -> dict[str, bytes]:
    found = {buffer.name: members.get(f"{kind}/{number:02}") for number, buffer in enumerate(declared)}
    return {name: data for name, data in found.items() if data is not None}


def _require_digests(path: Path, facts: Mapping[str, Any], members: Mapping[str, bytes]) -> None:
    if facts["schema"] != SCHEMA:
        raise BadCapsule(str(path), f"it is of schema {facts['schema']}, this library reads {SCHEMA}")
    for name, digest in facts["digests"].items():
        if name not in members or blake3(members[name]).hexdigest() != digest:
            raise BadCapsule(str(path), f"{name} is missing or was changed")


def _config(facts: Mapping[str, Any]) -> DispatchConfig:
    """The inverse of `config_facts`."""
    fields: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in facts.items()}
    for name in ("speculation", "persistent_thread"):
        if name in fields:
            fields[name] = Preference(fields[name])
    return DispatchConfig(**fields)
