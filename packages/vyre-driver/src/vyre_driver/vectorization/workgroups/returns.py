"""Early ends of one invocation, where other invocations follow in the same loop: the loop goes on with the next one."""

from __future__ import annotations

from vyre_foundation.dtype import bool_
from vyre_foundation.ir.expr import Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.stmt import Assign, Body, Break, Continue, For, If, Return, Stmt, Var
from vyre_foundation.ir.walk import statements


def without_returns(body: Body, farewell: Body, fresh: Fresh) -> Body:
    """Replace returns by jumps to the next iteration of the loop over invocations.

    ``if c: return; …``  →  ``if c: (farewell; continue); …``

    From inside of another loop, a flag leads out: ``left = true; break``, and behind the loop ``if left: continue``.
    """
    if not any(isinstance(s, Return) for s in statements(body)):
        return body
    nested = any(
        isinstance(s, For) and any(isinstance(r, Return) for r in statements(s.body)) for s in statements(body)
    )
    left = Local(fresh("left"), bool_)
    flag = (Var(left.name, literal(bool_, 0)),) if nested else ()
    return (*flag, *_rewritten(body, 0, left, farewell))


def _rewritten(body: Body, depth: int, left: Local, farewell: Body) -> Body:
    """`depth` counts the loops of the invocation around `body`."""
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Return():
                out += (Assign(left.name, literal(bool_, 1)), Break()) if depth else (*farewell, Continue())
            case If(condition, then, orelse):
                out.append(
                    If(
                        condition,
                        _rewritten(then, depth, left, farewell),
                        _rewritten(orelse, depth, left, farewell),
                    )
                )
            case For(name, start, stop, step, inner):
                out.append(For(name, start, stop, step, _rewritten(inner, depth + 1, left, farewell)))
                if any(isinstance(s, Return) for s in statements(inner)):
                    out.append(If(left, (Break(),) if depth else (*farewell, Continue())))
            case _:
                out.append(stmt)
    return tuple(out)
