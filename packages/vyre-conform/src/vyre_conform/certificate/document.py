"""The document: canonical JSON with a digest over itself, and signatures beside it.

Canonical: keys in order, no spaces, UTF-8, no floats. Two certificates with equal digests say the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vyre_conform.cell import Cell
from vyre_conform.run import digest_of
from vyre_foundation.errors import VyreError

SCHEMA = "vyre-conform certificate 2"


class BadCertificate(VyreError, ValueError):
    """A file that is not a certificate, or not any more what was certified."""

    code = "E1211"


@dataclass(frozen=True, slots=True)
class Certificate:
    """`body` is what is certified (see `certify`); `signatures` map public keys in hex to signatures in hex."""

    body: Mapping[str, Any]
    signatures: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> bytes:
        """The bytes that the digest is over and that are signed."""
        return canonical(self.body)

    @property
    def digest(self) -> str:
        """BLAKE3 of the body, in hex."""
        return digest_of(SCHEMA.encode(), self.message)


def canonical(value: object) -> bytes:
    """A value as the only JSON text that stands for it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def cell_digest(cell: Cell) -> str:
    """What a replay of a cell has to give again, on whatever backend: the launch, what was expected, how it ended.

    A cell that passes gave what was expected, in some order where the order is the schedule's.
    """
    digests = cell.digests
    parts = (str(cell.address), cell.state.value, digests.program, digests.launch, digests.expected)
    return digest_of(*(part.encode() for part in parts))


def write_certificate(certificate: Certificate, path: Path) -> None:
    """Write it; equal certificates give equal files."""
    document = {
        "schema": SCHEMA,
        "digest": certificate.digest,
        "certificate": dict(certificate.body),
        "signatures": dict(certificate.signatures),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_certificate(path: Path) -> Certificate:
    """The certificate in a file, `BadCertificate` if anything in it was changed. Signatures are not looked at."""
    try:
        document = json.loads(path.read_text("utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"it is of the schema {document['schema']!r}, not {SCHEMA!r}")
        found = Certificate(document["certificate"], document["signatures"])
        if found.digest != document["digest"]:
            raise ValueError("what it says is not what its digest stands for")
        if not found.body["cells"]:
            raise ValueError("it certifies no cell")
    except (KeyError, TypeError, ValueError) as error:
        fix = "take the file as it was written, or certify again"
        raise BadCertificate(f"it is no certificate: {error}", fix=fix, where=str(path)) from error
    return found
