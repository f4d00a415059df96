"""Certificates: what a run has shown, in a document that a stranger can check by running it again."""

from vyre_conform.certificate.certify import NotCertifiable, certify
from vyre_conform.certificate.document import TRUST, BadCertificate, Certificate, read_certificate, write_certificate
from vyre_conform.certificate.signature import read_trust, sign, signers
from vyre_conform.certificate.verify import Verification, verify

__all__ = [
    "TRUST",
    "BadCertificate",
    "Certificate",
    "NotCertifiable",
    "Verification",
    "certify",
    "read_certificate",
    "read_trust",
    "sign",
    "signers",
    "verify",
    "write_certificate",
]
