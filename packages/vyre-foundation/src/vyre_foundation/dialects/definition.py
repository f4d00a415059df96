"""What a dialect is: compositions under ids, what has become of former ops, and why one is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vyre_foundation.dialects.attributes import AttrSchema, AttrValue
from vyre_foundation.dialects.lowering import NO_LOWERINGS, LoweringTable
from vyre_foundation.dialects.mutation import MutationClass
from vyre_foundation.dtype import DType
from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir.argument import shown
from vyre_foundation.ir.expr import Expr

Expand = Callable[..., Expr]


@dataclass(frozen=True, slots=True)
class Composition:
    """One op: `id` is ``dialect.op``, `signatures` maps operand types to a result type, `expand` gives the meaning.

    The last operands may be attributes: `expand` gets them as literals. `lowerings` are what stands in for it, where.
    Calls of a `rare` op are the first arm of a selection that hardly ever takes it; where a target can branch, it
    computes them only then.
    """

    id: str
    signatures: dict[tuple[DType, ...], DType]
    expand: Expand
    summary: str = ""
    attrs: tuple[AttrSchema, ...] = ()
    lowerings: LoweringTable = NO_LOWERINGS
    rare: bool = False

    def __post_init__(self) -> None:
        """Refuse fields of another kind, which Python itself does not check."""
        name: object = self.id
        if not isinstance(name, str):
            raise DeclarationError(f"got {shown(name)} as the id of an op, expected a string", fix="pass a str")
        rows: object = self.signatures
        if not (isinstance(rows, Mapping) and rows and all(_is_signature(*row) for row in rows.items())):
            message = "got other signatures than types of operands and of the result"
            raise DeclarationError(message, fix="write them as {(f32, f32): f32}", where=f"op {name!r}")
        function: object = self.expand
        if not callable(function):
            message = f"got {shown(function)} as `expand`, expected a function"
            raise DeclarationError(message, fix="pass a function of expressions", where=f"op {name!r}")


def _is_signature(operands: object, result: object) -> bool:
    return isinstance(operands, tuple) and all(isinstance(given, DType) for given in (*operands, result))


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What has become of an op: calls of `op` mean `to`, with the operands in the order of `operands`.

    `attrs` are attributes of the new op that the old one did not have. `mutation` says how much changes: programs are
    not rewritten to a semantic one unless it is asked for. An empty `to` is a deprecation alone: the op still means
    what it did, and `note` says what to use.
    """

    op: str
    to: str = ""
    since: str
    note: str = ""
    operands: tuple[int, ...] | None = None
    attrs: tuple[tuple[str, AttrValue], ...] = ()
    mutation: MutationClass = MutationClass.STRUCTURAL


LANGUAGE = 1
"""The version of the language that dialects are written for; it counts the breaks."""

Validator = Callable[[str, tuple[DType, ...], Mapping[str, AttrValue]], str]
"""What a dialect says to a call: op, operand types and attributes in, the reason against it or "" out. Pure."""


def default_validator(op: str, operands: tuple[DType, ...], attrs: Mapping[str, AttrValue]) -> str:
    """Types and schemas are all that there is to say."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Ops that belong to one library: ids begin with ``id.``. `language` is the `LANGUAGE` that it was written for.

    `validator` may refuse calls whose types are right. `digest` tells apart what the version does not: the contents of
    a manifest.
    """

    id: str
    version: str
    ops: tuple[Composition, ...]
    language: int = LANGUAGE
    migrations: tuple[Migration, ...] = ()
    summary: str = ""
    validator: Validator = default_validator
    digest: str = ""


@dataclass(frozen=True, slots=True)
class DialectProblem:
    """A dialect, or one version of it, that is left out: from where it came, why, and the remedy."""

    id: str
    source: str
    reason: str
    fix: str

    def __str__(self) -> str:
        return f"dialect {self.id!r} of {self.source}: {self.reason}. Fix: {self.fix}"
