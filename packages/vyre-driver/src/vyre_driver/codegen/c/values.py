"""Expressions as text: temporaries for what is shared, too deep or too long, a line each just before the statement.

A temporary is used again as long as it surely holds the same value (see `KnownValues`).
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import NamedTuple

from vyre_driver.codegen.c.literals import spell
from vyre_driver.codegen.dialect import CDialect
from vyre_driver.codegen.known import KnownValues
from vyre_driver.codegen.placement import Life, Placement
from vyre_driver.legalization.text_forms import CallForm
from vyre_foundation.dialects import lookup
from vyre_foundation.dialects.lowering import TextModule
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, Length, Literal, Load, Select, literal

_MAX_DEPTH = 24
_MAX_WIDTH = 160
_SMALL = 3
_COSTLY = 4


class CExpression(NamedTuple):
    """The text of an expression, the depth of its brackets (0 for a word), and how many expressions it spells."""

    text: str
    depth: int = 0
    size: int = 1


class Values:
    """Prints the expressions of one kernel.

    `names` are the identifiers of locals and buffers, `lengths` those of the lengths of buffers, `ids` those of the
    coordinates. `texts` define calls. `temporary` gives a new identifier, `emit` takes a line.
    """

    def __init__(
        self,
        dialect: CDialect,
        placement: Placement,
        symbols: Mapping[Expr, str],
        arrays: Mapping[str, str],
        texts: Mapping[CallForm, TextModule],
        temporary: Callable[[], str],
        emit: Callable[[str], None],
    ) -> None:
        self._dialect, self._placement, self._arrays = dialect, placement, arrays
        self._texts, self._temporary, self._emit = texts, temporary, emit
        self._symbols = {node: CExpression(word) for node, word in symbols.items()}
        self.known: KnownValues[CExpression] = KnownValues(placement)
        self._print: dict[type[Expr], Callable[..., CExpression]] = {
            Apply: self._apply,
            Load: self._load,
            Select: self._select,
            Cast: self._cast,
            Bitcast: self._bitcast,
            Call: self._call,
            Literal: self._literal,
        }
        self._calls = {**dialect.natives, **dialect.calls}
        self._repeating = {key for key, template in dialect.ops.items() if _repeats(template)}

    # ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def text(self, root: Expr) -> str:
        """`root` as text, after the temporaries that it needs."""
        return self._walk(root).text

    def word(self, root: Expr) -> str:
        """`root` as one word, which may be written twice."""
        return self._worded(root, self._walk(root)).text

    def fixed(self, root: Expr) -> str:
        """`root` as one word that stays what it is now."""
        printed = self._walk(root)
        if printed.depth == 0 and self._placement.lives[root] is Life.SCOPE:
            return printed.text
        return self._bound(root, printed)

    def element(self, buffer: str, index: Expr) -> str:
        """An element of `buffer` as text, to be read or assigned."""
        return f"{self._arrays[buffer]}[{self._index(index, self._walk(index)).text}]"

    def _walk(self, root: Expr) -> CExpression:
        """Children first, without recursion. What is used once is in `done` until its parent takes it."""
        known, symbols = self.known.values, self._symbols
        done: dict[Expr, CExpression] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            if node in done or node in known or node in symbols:
                stack.pop()
                continue
            todo = [a for a in node.args if not (a in done or a in known or a in symbols)]
            if todo:
                stack.extend(reversed(todo))
                continue
            args = [symbols.get(a) or known.get(a) or done[a] for a in node.args]
            done[node] = self._finished(node, self._print[type(node)](node, args))
            stack.pop()
        return symbols.get(root) or known.get(root) or done[root]

    def _finished(self, node: Expr, printed: CExpression) -> CExpression:
        """`printed`, as a temporary if it is shared or grows too large."""
        shared = self._placement.uses[node] > 1
        if (shared and printed.size > _SMALL) or printed.depth >= _MAX_DEPTH or len(printed.text) > _MAX_WIDTH:
            return self._worded(node, printed)
        if shared:
            self.known.remember(node, printed)
        return printed

    def _worded(self, node: Expr, printed: CExpression) -> CExpression:
        """`printed` as a word: bound to a temporary if it is more than that."""
        if printed.depth == 0:
            return printed
        known = self.known.values.get(node)
        if known is not None and known.depth == 0:
            return known
        word = CExpression(self._bound(node, printed))
        self.known.remember(node, word)
        return word

    def _bound(self, node: Expr, printed: CExpression) -> str:
        name = self._temporary()
        self._emit(f"const {self._dialect.types[node.dtype]} {name} = {without_brackets(printed.text)};")
        return name

    # ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _apply(self, node: Apply, args: list[CExpression]) -> CExpression:
        key = (node.op.id, node.args[0].dtype)
        if key in self._repeating:
            args = [self._worded(source, x) for source, x in zip(node.args, args, strict=True)]
        return _joined(self._dialect.ops[key], args)

    def _select(self, node: Select, args: list[CExpression]) -> CExpression:
        return _joined(self._dialect.select, args)

    def _cast(self, node: Cast, args: list[CExpression]) -> CExpression:
        if isinstance(node.value, Id) and node.dtype is u64 and (id := self._index_id(node.value)) is not None:
            return id
        return _joined(self._dialect.casts[node.value.dtype, node.dtype], args)

    def _bitcast(self, node: Bitcast, args: list[CExpression]) -> CExpression:
        return _joined(self._dialect.bitcasts[node.value.dtype, node.dtype], args)

    def _call(self, node: Call, args: list[CExpression]) -> CExpression:
        text = self._texts.get(CallForm.of(node)) if self._texts else None
        if text is None:
            return _joined(self._calls[node.callee, node.args[0].dtype], args)
        values = args[: len(args) - len(lookup(node.callee).attrs)]
        return _joined(f"{text.entry}({', '.join(['{}'] * len(values))})", values)

    def _literal(self, node: Literal, args: list[CExpression]) -> CExpression:
        return CExpression(spell(self._dialect, node))

    def _load(self, node: Load, args: list[CExpression]) -> CExpression:
        """A checked load reads only where the index is below the length, and gives 0 elsewhere."""
        array, index = self._arrays[node.buffer.name], self._index(node.index, args[0])
        if not node.checked:
            return CExpression(f"{array}[{index.text}]", index.depth + 1, index.size + _COSTLY)
        index = index if index.depth == 0 else self._worded(node.index, index)
        zero = self._zero(node)
        return CExpression(
            f"({index.text} < {self._length(node)} ? {array}[{index.text}] : {zero})", 2, index.size + _COSTLY
        )

    def _index(self, index: Expr, printed: CExpression) -> CExpression:
        return (self._index_id(index) if isinstance(index, Id) else None) or printed

    def _index_id(self, id: Id) -> CExpression | None:
        """A coordinate may have a form that needs no conversion to address memory."""
        text = self._dialect.index_ids.get((id.kind, id.axis))
        return None if text is None else CExpression(text)

    def _length(self, node: Load) -> str:
        if isinstance(node.buffer.count, int):
            return spell(self._dialect, literal(u32, node.buffer.count))
        return self._symbols[Length(node.buffer)].text

    def _zero(self, node: Load) -> str:
        return spell(self._dialect, Literal(node.dtype, 0)) if node.dtype in self._dialect.literals else "0"


def _joined(template: str, args: list[CExpression]) -> CExpression:
    depth = size = 0
    for arg in args:
        depth = max(depth, arg.depth)
        size += arg.size
    return CExpression(template.format(*[arg.text for arg in args]), depth + 1, size + 1)


def without_brackets(text: str) -> str:
    """`text` without the brackets around all of it, if there are such."""
    if not text.startswith("("):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text


def _repeats(template: str) -> bool:
    """Whether a template mentions an operand twice."""
    fields = [field for _, field, _, _ in string.Formatter().parse(template) if field is not None]
    return len(fields) != len(set(fields))
