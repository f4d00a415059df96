"""Errors about ops of dialects."""

from __future__ import annotations

from vyre_foundation.errors import VyreError


class UnknownCallee(VyreError, LookupError):
    """A program calls an op that no installed dialect defines."""

    code = "E105"


class DuplicateOpId(VyreError, ValueError):
    """Two dialects define the same op id."""

    code = "E106"


class SignatureMismatch(VyreError, TypeError):
    """A call's operands do not match the op's signature, or its composition does not give the declared type."""

    code = "E107"
