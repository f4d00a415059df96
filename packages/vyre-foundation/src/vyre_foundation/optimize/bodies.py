"""Bodies that keep their identity where nothing changed."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from vyre_foundation.ir.stmt import Body, Stmt


def same_body(body: Body, stmts: Sequence[Stmt]) -> Body:
    """`body` itself if its statements are `stmts`, else a body of these."""
    return body if len(stmts) == len(body) and all(map(is_, stmts, body)) else tuple(stmts)
