"""How loops are printed: which are written out before vectors are made, and which ask whether they are to end.

LLVM makes vectors of innermost loops alone. A loop over invocations that has a loop in it becomes one only if that is
written out. A loop that LLVM can make a vector of itself stays as it is: one that sums integers up.

A launch can be cancelled while it runs. A loop that may take long asks for that, but not in each iteration: the
question keeps LLVM from moving accesses of memory across it. So the loop runs in chunks of iterations, and asks between
them.
"""

from __future__ import annotations

from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Load, Local
from vyre_foundation.ir.stmt import Assign, Atomic, Body, Break, For, Stmt, Store
from vyre_foundation.ir.walk import bodies, expressions, jumps_of, postorder, statements
from vyre_foundation.validate.declared import declared_locals

_ALWAYS = 4
"""A loop of at most this many iterations is not vectorized."""
_MOST_WITH_BREAK = 8
"""LLVM joins the exits of some loops with a `break`, and writes out no more iterations of those."""
_MOST = 2000
"""Operations of all iterations together."""
_SHORT = 64
"""Elements of a private array that can all be in registers."""
_CHUNK = 1 << 16
"""Operations of an invocation between two questions: a tenth of a millisecond, times the vectors of a workgroup."""
_UNKNOWN_TRIPS = 64
"""A loop of which nothing is known has as many, for the one around it."""
_LITTLE = 30
"""Operations of an invocation that wait for memory, not for each other."""
_BESIDE_LOOKUP = 10
"""Operations of an invocation for each element that it looks up."""
_PRINTED_TWICE = 50
"""Operations of an iteration of which there may be two copies in the code."""
COPIES = 4
"""Copies of a private buffer, which iterations use in turns: as many as `SCALAR` writes one behind the other."""
_REDUCTIONS = frozenset("add mul and or xor min max".split())


def is_better_unrolled(loop: For) -> bool:
    """Whether all iterations of a loop should stand one behind the other."""
    return _is_better_unrolled(loop, _unrolled_size(loop.body, set()))


def is_short(loop: For) -> bool:
    """Whether a loop has so few iterations that an array with an element for each can be in registers."""
    return loop.trip_count is not None and loop.trip_count <= _SHORT


def _is_better_unrolled(loop: For, each: int) -> bool:
    """The same of a loop with `each` operations in an iteration."""
    trips = loop.trip_count
    if loop.is_parallel or trips is None or trips * each > _MOST:
        return False
    if trips > _MOST_WITH_BREAK and any(isinstance(s, Break) for s in jumps_of(*loop.body)):
        return False
    stmts = tuple(statements(loop.body))
    if any(isinstance(s, For) and s.is_parallel for s in stmts):
        return False  # a loop over invocations is in it, not around it
    return trips <= _ALWAYS or not is_reduction(loop, stmts)


def _unrolled_size(body: Body, seen: set[Expr]) -> int:
    """How many operations a body has after those of its loops that are better unrolled are."""
    total = len(postorder((e for s in body for e in expressions(s)), seen))
    for stmt in body:
        inner = sum(_unrolled_size(nested, seen) for nested in bodies(stmt))
        if isinstance(stmt, For) and stmt.trip_count is not None and _is_better_unrolled(stmt, inner):
            inner *= stmt.trip_count
        total += inner
    return total


def is_stream(loop: For) -> bool:
    """Whether invocations do little but load and store elements of buffers: memory limits such a loop.

    Vectors of several iterations at once only load in bursts, and take a quarter longer for it.
    """
    stmts = tuple(statements(loop.body))
    if not loop.is_parallel or any(isinstance(s, For) for s in stmts):
        return False
    stores = [s for s in stmts if isinstance(s, Store)]
    if not any(s.buffer.memory is not Memory.PRIVATE for s in stores):
        return False
    return len(postorder(e for s in stmts for e in expressions(s))) <= _LITTLE


def looks_up(loop: For) -> bool:
    """Whether invocations do little but load elements at indices which they have loaded.

    A vector of such elements is made of one after the other, which takes longer than what is done with it saves.
    """
    stmts, own = tuple(statements(loop.body)), declared_locals(loop.body)
    if not loop.is_parallel or any(isinstance(s, For) for s in stmts):
        return False
    loaded: dict[Expr, bool] = {Local(loop.name, loop.start.dtype): False}
    lookups = 0
    for node in postorder(e for s in stmts for e in expressions(s)):
        varying = [loaded[a] for a in node.args if a in loaded]
        if varying or (isinstance(node, Local) and node.name in own):
            loaded[node] = isinstance(node, Load) or any(varying)
            lookups += isinstance(node, Load) and loaded[node.index]
    return len(loaded) <= _BESIDE_LOOKUP * lookups


def combines(loop: For) -> bool:
    """Whether invocations do little but change elements by atomics, as for a histogram. LLVM makes no vectors of it."""
    stmts = tuple(statements(loop.body))
    if not loop.is_parallel or any(isinstance(s, For) for s in stmts) or not any(isinstance(s, Atomic) for s in stmts):
        return False
    return len(postorder(e for s in stmts for e in expressions(s))) <= _LITTLE


def changes_in_place(loop: For) -> bool:
    """Whether invocations load other elements of a buffer that they store to, and all loads precede the store.

    Without a data race no invocation uses an element that another one stores. LLVM cannot know that of one buffer.
    """
    stmts = tuple(statements(loop.body))
    loads = {node for s in stmts for node in postorder(expressions(s)) if isinstance(node, Load)}
    stores, own = [s for s in stmts if isinstance(s, Store)], declared_locals(loop.body)
    buffers = [s.buffer for s in stores]
    if not loop.is_parallel or any(isinstance(s, (For, Atomic)) for s in stmts) or len(set(buffers)) < len(buffers):
        return False
    if any(isinstance(s, Assign) and s.name not in own for s in stmts):
        return False  # a value goes from one invocation to the next
    if any(buffer.memory is Memory.PRIVATE for buffer in (*(node.buffer for node in loads), *buffers)):
        return False
    stored: set[Buffer] = set()
    for stmt in stmts:
        if any(isinstance(node, Load) and node.buffer in stored for node in postorder(expressions(stmt))):
            return False
        stored |= {stmt.buffer} if isinstance(stmt, Store) else set()
    return any(node.buffer is s.buffer and node.index is not s.index for s in stores for node in loads)


def chunk_of(loop: For) -> int | None:
    """How many iterations of a loop run between two questions; None for a loop that ends soon by itself."""
    if loop.is_parallel:
        return None
    each = max(1, _operations(loop.body))
    if loop.trip_count is not None and loop.trip_count * each <= _CHUNK:
        return None
    return max(1, _CHUNK // each)


def is_printed_twice(loop: For) -> bool:
    """Whether a loop that asks has a copy of it that does not, for executions that end soon."""
    has_loops = any(isinstance(s, For) for s in statements(loop.body))
    return loop.trip_count is None and not has_loops and _operations(loop.body) <= _PRINTED_TWICE


def _operations(body: Body) -> int:
    """What a body computes at most, as far as that is known."""
    total = 0
    for stmt in body:
        own = len(postorder(expressions(stmt)))
        inner = sum(_operations(nested) for nested in bodies(stmt))
        if isinstance(stmt, For):
            inner *= _UNKNOWN_TRIPS if stmt.trip_count is None else stmt.trip_count
        total += own + inner
    return total


def is_reduction(loop: For, stmts: tuple[Stmt, ...]) -> bool:
    """Whether ``total = total + x``, for integers, is all that one iteration leaves to the next."""
    inner = declared_locals(loop.body).keys()
    carried = [s for s in stmts if isinstance(s, Assign) and s.name not in inner]
    names = {s.name for s in carried}
    if len(names) != len(carried) or any(isinstance(s, For) for s in stmts):
        return False
    combined = []
    for stmt in carried:
        match stmt.value:
            case Apply(op, (Local(name), x)) if op.id in _REDUCTIONS and name == stmt.name and x.dtype.is_integer:
                combined.append(x)
            case _:
                return False
    others = (e for s in stmts if s not in carried for e in expressions(s))
    return not any(isinstance(node, Local) and node.name in names for node in postorder((*combined, *others)))
