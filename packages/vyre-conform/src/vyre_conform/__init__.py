"""Proof that vyre backends agree byte for byte: parity matrix, fuzzing, negative controls."""

__version__ = "0.1.0"
