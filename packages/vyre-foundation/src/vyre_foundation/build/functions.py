"""Python functions on values, made from rows of a table: the ops of the language and those of a dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature

from vyre_foundation.build.values import Operand, Value, apply
from vyre_foundation.ops import Op, Result, Witness

_RESULTS = {Result.SAME: "the type of the operands", Result.BOOL: "bool", Result.UNSIGNED: "the unsigned operand type"}


def make_function(
    module: str, name: str, parameters: Sequence[str], compute: Callable[..., Value], doc: str
) -> Callable[..., Value]:
    """Make a function whose signature and documentation come from a table.

    It is a function of this package, so the origin of what it records is the line of its caller.

    Args:
        module: Where the function is importable from.
        name: Its name there.
        parameters: The names of its operands.
        compute: Called with the operands by position.
        doc: Its docstring.

    Returns:
        A function that `inspect.signature`, `help` and `pickle` treat as one written by hand.
    """
    signature = Signature(
        [Parameter(p, Parameter.POSITIONAL_OR_KEYWORD, annotation="Operand") for p in parameters],
        return_annotation="Value",
    )
    arity = len(parameters)

    def function(*operands: Operand, **named: Operand) -> Value:
        if named or len(operands) != arity:
            try:
                operands = signature.bind(*operands, **named).args
            except TypeError as error:
                raise TypeError(f"{name}() {error}. Fix: pass {', '.join(parameters)}") from None
        return compute(*operands)

    function.__module__, function.__name__, function.__qualname__, function.__doc__ = module, name, name, doc
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def op_function(module: str, name: str, row: Op) -> Callable[..., Value]:
    """Make the function of a row of the op table, documented by the row's summary, types and witnesses."""
    return make_function(module, name, row.operands, lambda *operands: apply(row, *operands), _documentation(name, row))


def _documentation(name: str, row: Op) -> str:
    first, *others = row.operands
    accepted = ", ".join(t.name for t in row.accepts)
    lines = [f"Compute {row.summary}.", "", "Args:"]
    lines += [f"    {first}: A value{' or a number' if others else ''}, of one of the types", f"        {accepted}."]
    lines += [f"    {other}: As `{first}`; a number takes the type of the value beside it." for other in others]
    lines += ["", "Returns:", f"    A value of {_RESULTS[row.result]}, with the same bits on every backend."]
    lines += ["", "Raises:", "    TypeMismatch: The operands have different types, or one that is not accepted."]
    lines += ["    LiteralOutOfRange: The type cannot hold a number."] if others else []
    lines += ["    BuildError: No operand is a value."]
    lines += ["", "Examples:", *(f"    {_example(name, row, witness)}" for witness in row.witnesses)]
    lines += ["", f"Rule: `{row.id}` in docs/language.md, Ops.", ""]
    return "\n".join(lines)


def _example(name: str, row: Op, witness: Witness) -> str:
    operands = ", ".join(map(repr, witness.operands))
    return f"{name}({operands}) gives {witness.result!r} in {witness.dtype}"
