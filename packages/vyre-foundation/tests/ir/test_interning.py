"""The table of expressions: it forgets what nobody holds, whole graphs at once, and threads agree on identity."""

import gc
import sys
import threading
from collections.abc import Callable

import pytest

from vyre_foundation.dtype import bool_, f32, u32
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir import Apply, Expr, Literal, Local, Select
from vyre_foundation.ir import expr as table
from vyre_foundation.ir.code import code
from vyre_foundation.ir.expr import applied, binary, interned_count, known_binary
from vyre_foundation.ops import OPS

X, F, FLAG = Local("x", u32), Local("f", f32), Local("flag", bool_)


def chain(size: int, name: str) -> Expr:
    e: Expr = Local(name, u32)
    for step in range(size):
        e = Apply(OPS["add"], e, Literal(u32, step % 7))
    return e


def test_a_sweep_frees_whole_graphs() -> None:
    before = interned_count()
    held = chain(10_000, "held")
    also_dropped = chain(10_000, "dropped")
    assert interned_count() >= before + 20_000
    del also_dropped
    assert interned_count() <= before + 10_000 + 10
    assert held is chain(10_000, "held")
    del held
    gc.collect()
    assert interned_count() <= before + 10


def test_the_table_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_SMALL", 1000)
    monkeypatch.setattr(table, "_sweep_at", interned_count() + 1000)
    limit = 4 * interned_count() + 10_000
    for round in range(200):
        chain(1000, f"temporary{round}")
        assert len(table._live) < limit


def test_programs_that_share_all_leaves_do_not_make_the_table_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """They bring nothing but applications, which do not ask for a sweep themselves."""
    leaves = [Literal(u32, step) for step in range(7)]
    monkeypatch.setattr(table, "_SMALL", 1000)
    monkeypatch.setattr(table, "_sweep_at", interned_count() + 1000)
    limit = 4 * interned_count() + 10_000
    for round in range(200):
        e: Expr = X
        for step in range(200):
            e = Apply(OPS["add"], Apply(OPS["mul"], e, leaves[round >> step % 8 & 1]), leaves[step % 7])
        code([e])
        assert len(table._live) < limit


def test_what_is_made_again_after_a_sweep_is_equal_to_itself() -> None:
    first = chain(100, "again")
    del first
    interned_count()
    assert chain(100, "again") is chain(100, "again")


def test_operands_of_a_held_expression_stay() -> None:
    e = chain(1000, "below")
    below = e.args[0].args[0]
    identity = id(below)
    del below
    interned_count()
    assert id(e.args[0].args[0]) == identity
    assert e.args[0].args[0] is chain(998, "below")


@pytest.mark.parametrize("make", [lambda op, *args: Apply(op, *args), lambda op, *args: Select(FLAG, *args)])
def test_threads_agree_on_identity(make: Callable[..., Expr]) -> None:
    """All threads make the same expressions at once while the table is swept; each must get the same objects."""
    threads, rounds, size = 4, 12, 200
    start = threading.Barrier(threads)
    results: list[list[Expr]] = [[] for _ in range(threads)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for round in range(rounds):
                start.wait()
                e: Expr = Local(f"round{round}", u32)
                for step in range(size):
                    e = make(OPS["add"], e, X)
                    if number == 0 and step % 50 == 0:
                        interned_count()
                results[number].append(e)
        except BaseException as error:
            errors.append(error)
            start.abort()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    for made in zip(*results, strict=True):
        assert len(set(made)) == 1


def test_what_others_look_up_during_a_sweep_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that finds an expression just when a sweep has decided to forget it makes the sweep think again."""
    key = Apply(OPS["mul"], X, Local("looked up", u32)).args
    found: list[Expr] = []
    counted = sys.getrefcount

    def getrefcount(node: object) -> int:
        count = counted(node)
        if not found and isinstance(node, Apply) and node.args is key:
            found.append(node)
        return count

    monkeypatch.setattr(table, "getrefcount", getrefcount)
    monkeypatch.setattr(table, "_ONLY_THE_TABLE", table._ONLY_THE_TABLE + 1)
    monkeypatch.setattr(table, "_ONLY_A_LOCAL", table._ONLY_A_LOCAL + 1)
    interned_count()
    assert found == [Apply(OPS["mul"], *key)]


def test_who_comes_while_a_sweep_decides_waits_for_it() -> None:
    e = Apply(OPS["mul"], X, Local("undecided", u32))
    made: list[Expr] = []
    with table._lock:
        table._live[e.args] = False
        thread = threading.Thread(target=lambda: made.append(Apply(OPS["mul"], *e.args)))
        thread.start()
        thread.join(0.05)
        assert made == []
        table._live[e.args] = e
    thread.join()
    assert made == [e]


def test_the_short_way_is_the_same() -> None:
    assert applied(OPS["add"], (X, X)) is Apply(OPS["add"], X, X) is binary(OPS["add"], X, X)
    assert applied(OPS["fma"], (F, F, F)) is Apply(OPS["fma"], F, F, F)
    assert applied(OPS["sqrt"], (F,)) is Apply(OPS["sqrt"], F) is not applied(OPS["neg"], (F,))
    for op, first, second in ((OPS["add"], X, F), (OPS["sqrt"], F, F), (OPS["fma"], F, F), (OPS["and"], F, F)):
        with pytest.raises(TypeMismatch):
            applied(op, (first, second))
    with pytest.raises(TypeMismatch, match="operands of one type"):
        binary(OPS["add"], X, F)


def test_ops_of_the_same_operands_are_told_apart_after_a_sweep() -> None:
    """The first application of operands is entered by these alone; it must stay while others refer to it."""
    operands = (X, Local("shared", u32))
    first = applied(OPS["sub"], operands)
    other = applied(OPS["mul"], operands)
    assert first is not other
    assert (first.op, other.op) == (OPS["sub"], OPS["mul"])
    identity = id(first)
    del first
    interned_count()
    assert applied(OPS["mul"], operands) is other
    assert id(applied(OPS["sub"], operands)) == identity
    assert known_binary(OPS["mul"], operands) is other
    assert known_binary(OPS["xor"], operands) is None
    before = interned_count()
    del other
    assert interned_count() == before - 2
    assert known_binary(OPS["sub"], operands) is None
