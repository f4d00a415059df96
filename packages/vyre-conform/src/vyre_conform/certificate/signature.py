"""Signatures by a key that the caller holds, and the list of keys that a reader trusts.

Ed25519, by the extra `sign`. A private key is a PEM file, as ``openssl genpkey -algorithm ed25519`` writes it. A trust
store is text: on each line a public key in hex, spaces, and whose it is; ``#`` begins a comment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from vyre_conform.certificate.document import SCHEMA, BadCertificate, Certificate
from vyre_foundation.errors import VyreError


class BadKey(VyreError, ValueError):
    """A key, or a list of keys, that cannot be used."""

    code = "E1213"


def sign(certificate: Certificate, key: Path) -> Certificate:
    """The certificate with one signature more."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    try:
        private = load_pem_private_key(key.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise _bad_key(key, str(error)) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise _bad_key(key, "it is a key of another kind")
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    return replace(certificate, signatures={**certificate.signatures, public: private.sign(_signed(certificate)).hex()})


def signers(certificate: Certificate, trusted: Mapping[str, str]) -> list[str]:
    """Whose of the trusted keys have signed it, in the order of the signatures.

    Raises `BadCertificate` for a signature that is wrong, trusted or not: somebody has changed something.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    found = []
    for public, signature in certificate.signatures.items():
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(
                bytes.fromhex(signature), _signed(certificate)
            )
        except (InvalidSignature, ValueError) as error:
            fix = "take the file as it was written"
            raise BadCertificate(f"the signature of the key {public} does not hold", fix=fix) from error
        if public in trusted:
            found.append(trusted[public])
    return found


def read_trust(path: Path) -> dict[str, str]:
    """Names by public keys in hex."""
    trusted = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        key, name = [*text.split(None, 1), ""][:2]
        if len(key) != 64 or not name or set(key) - set("0123456789abcdef"):
            raise BadKey(f"{text!r} is no key and name", fix="write 64 hex digits, spaces, and whose key it is",
                         where=f"{path}:{number}")  # fmt: skip
        trusted[key] = name
    return trusted


def _signed(certificate: Certificate) -> bytes:
    """What a signature is over; other uses of the same key cannot be mistaken for it."""
    return SCHEMA.encode() + b"\0" + certificate.message


def _bad_key(path: Path, why: str) -> BadKey:
    fix = "make one by `openssl genpkey -algorithm ed25519 -out FILE`"
    return BadKey(f"the private key cannot be used: {why}", fix=fix, where=str(path))
