"""The vyre language: IR, types, op table, validator, wire form, fingerprint, text form."""

__version__ = "0.1.0"
