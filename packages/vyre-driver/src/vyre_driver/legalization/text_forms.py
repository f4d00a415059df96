"""Calls that a dialect has words for in the target's own language: which they are, and the words.

call("geometry.sad", a, b)    →    geometry_sad_u32_u32(a, b), and the text that defines it
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from vyre_driver.errors import KernelCompileFailed
from vyre_driver.legalization.target import Target
from vyre_foundation import dialects
from vyre_foundation.dialects.attributes import values_of
from vyre_foundation.dialects.lowering import LoweringCtx, TextModule
from vyre_foundation.dtype import DType
from vyre_foundation.errors import without_remedy
from vyre_foundation.ir.expr import Call, Expr

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class CallForm:
    """What calls have in common that one text serves: the op, the types of its values, its attributes, its result."""

    op: str
    values: tuple[DType, ...]
    attrs: tuple[Expr, ...]
    result: DType

    @classmethod
    def of(cls, node: Call) -> CallForm:
        """The form of a call: its attributes are the last arguments."""
        cut = len(node.args) - len(dialects.lookup(node.callee).attrs)
        return cls(node.callee, tuple(a.dtype for a in node.args[:cut]), node.args[cut:], node.dtype)

    @property
    def symbol(self) -> str:
        """The name of its function."""
        parts = (self.op, *(t.name for t in self.values), *(repr(attr) for attr in self.attrs))
        return _OTHER.sub("_", "_".join(parts)).strip("_")


_built: dict[tuple[str, CallForm], tuple[dialects.Composition, TextModule | None]] = {}
"""What builders gave for a language; asked once for each row."""


def text_for(form: CallForm, target: Target) -> TextModule | None:
    """The text that the op states for the target's language; None if it has none, or registers lack a type of it."""
    row = dialects.lookup(form.op)
    builder = row.lowerings.texts.get(target.language)
    if builder is None or not {*form.values, *(a.dtype for a in form.attrs), form.result} <= target.arithmetic:
        return None
    known = _built.get((target.language, form))
    if known is None or known[0] is not row:
        ctx = LoweringCtx(
            language=target.language,
            op=form.op,
            operands=form.values,
            result=form.result,
            attrs=values_of(row.attrs, form.attrs),
            symbol=form.symbol,
        )
        try:
            known = _built[target.language, form] = row, builder(ctx)
        except Exception as error:
            reason = f"{form.op} has no source in {target.language}: {type(error).__name__}: {without_remedy(error)}"
            raise KernelCompileFailed(target.name, reason, fix="correct the dialect's lowering") from error
    return known[1]


def require_distinct(modules: Iterable[TextModule], target: Target) -> None:
    """`KernelCompileFailed` for two texts with one name, or a name that is none."""
    seen: dict[str, str] = {}
    for module in modules:
        if not _WORD.match(module.entry) or seen.setdefault(module.entry, module.text) != module.text:
            reason = f"two sources of dialects define {module.entry!r}, or it is no name"
            raise KernelCompileFailed(target.name, reason, fix="call each function by the symbol of its context")
