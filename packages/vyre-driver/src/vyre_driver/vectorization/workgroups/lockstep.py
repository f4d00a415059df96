"""Masked lockstep loops: loops with divergent exits whose invocations iterate together.

    for k in 0..50 { if x > y { break; } x = f(x); }

becomes a loop of masked iterations, in which an invocation that has left changes nothing:

    for k in 0..50 { let on = going != 0; let left = on and x > y; going = select(left, 0, going);
                     let stays = on and not (x > y); x = select(stays, f(x), x); }

There are no branches in it, so compilers make vectors of the loop over invocations that comes inside. What those that
have left compute is thrown away. So it has to be cheap and harmless: arithmetic, which is total here, and no memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation.dtype import bool_, u32
from vyre_foundation.ir.expr import Apply, Call, Expr, Literal, Load, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.stmt import Assign, Body, Break, Continue, For, If, Let, Stmt, Var
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.ops import OPS

_KINDS = (Let, Var, Assign, If, Break, Continue)
_MOST = 500
"""Operations in a body that also runs for invocations that have left."""


def can_mask(loop: For) -> bool:
    """Whether the body is arithmetic and branches, of a kind that vectors have."""
    if not all(isinstance(stmt, _KINDS) for stmt in statements(loop.body)):
        return False
    nodes = postorder(e for stmt in statements(loop.body) for e in expressions(stmt))
    return len(nodes) <= _MOST and not any(map(_is_alone, nodes))


def _is_alone(node: Expr) -> bool:
    """Whether there is no such operation for vectors: they gather from memory and divide integers one by one."""
    match node:
        case Load() | Call():
            return True
        case Apply(op, (_, divisor)) if op.id in ("div", "rem"):
            return node.dtype.is_integer and not isinstance(divisor, Literal)
        case _:
            return False


def masked(body: Body, active: Local, fresh: Fresh) -> Body:
    """The body of a loop for all invocations; `active` is the flag (u32) of those that have not left."""
    masker = _Masker(active, fresh)
    masker.run(body, masker.let("on", Apply(OPS["ne"], active, literal(u32, 0))))
    return tuple(masker.out)


class _Masker:
    def __init__(self, active: Local, fresh: Fresh) -> None:
        self._active, self._fresh = active, fresh
        self.out: list[Stmt] = []

    def run(self, body: Sequence[Stmt], mask: Expr) -> Expr | None:
        """Write `body` for those in `mask`: the mask of those that come to its end, None if none does."""
        for stmt in body:
            match stmt:
                case Let() | Var():
                    self.out.append(stmt)
                case Assign(name, value):
                    self._assign(Local(name, value.dtype), value, mask)
                case Break():
                    self._assign(self._active, literal(u32, 0), mask)
                    return None
                case Continue():
                    return None
                case If(condition, then, orelse):
                    rest = self._branches(condition, then, orelse, mask)
                    if rest is None:
                        return None
                    mask = rest
        return mask

    def _branches(self, condition: Expr, then: Body, orelse: Body, mask: Expr) -> Expr | None:
        holds = self.let("holds", condition)
        yes = self.let("yes", _both(mask, holds))
        no = self.let("no", _both(mask, Apply(OPS["not"], holds)))
        first, second = self.run(then, yes), self.run(orelse, no)
        if first is None or second is None:
            return second if first is None else first
        if first is yes and second is no:
            return mask
        return self.let("on", Apply(OPS["or"], first, second))

    def _assign(self, local: Local, value: Expr, mask: Expr) -> None:
        self.out.append(Assign(local.name, Select(mask, value, local)))

    def let(self, stem: str, value: Expr) -> Local:
        name = self._fresh(stem)
        self.out.append(Let(name, value))
        return Local(name, bool_)


def _both(x: Expr, y: Expr) -> Expr:
    return Apply(OPS["and"], x, y)
