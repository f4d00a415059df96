"""Dialects: ops that are compositions of the language, registered under an id and expanded before lowering.

A composition is a function from expressions to an expression. It runs on every backend at once, because every backend
sees what it expands to. Distributions announce dialects through the entry point group ``vyre.dialects``; its values are
callables that return a `Dialect`, or plain `Composition` rows. Folders in `VYRE_DIALECT_PATH` hold more, as manifests.
"""

from vyre_foundation.dialects.calls import call, expand, is_rare_call, never, objection
from vyre_foundation.dialects.definition import (
    LANGUAGE,
    Composition,
    Dialect,
    DialectProblem,
    DuplicateOpId,
    Expand,
    Migration,
    SignatureMismatch,
    UnknownCallee,
    Validator,
    default_validator,
)
from vyre_foundation.dialects.registry import (
    dialect_problems,
    discover_with,
    installed_dialects,
    lookup,
    refresh,
    register,
    registered_ops,
    registration,
    unregister,
)

__all__ = [
    "LANGUAGE",
    "Composition",
    "Dialect",
    "DialectProblem",
    "DuplicateOpId",
    "Expand",
    "Migration",
    "SignatureMismatch",
    "UnknownCallee",
    "Validator",
    "call",
    "default_validator",
    "dialect_problems",
    "discover_with",
    "expand",
    "installed_dialects",
    "is_rare_call",
    "lookup",
    "never",
    "objection",
    "refresh",
    "register",
    "registered_ops",
    "registration",
    "unregister",
]
