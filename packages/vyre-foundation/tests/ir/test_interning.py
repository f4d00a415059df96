"""The table of expressions: it forgets what nobody holds, whole graphs at once, and threads agree on identity."""

import gc
import sys
import threading
from collections.abc import Callable

import pytest

from vyre_foundation.dtype import f32, u32
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir import Apply, Expr, Literal, Local
from vyre_foundation.ir import expr as table
from vyre_foundation.ir.expr import applying, interned_count
from vyre_foundation.ops import OPS

X, F = Local("x", u32), Local("f", f32)


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


@pytest.mark.parametrize("make", [lambda op, *args: Apply(op, *args), None])
def test_threads_agree_on_identity(make: Callable[..., Expr] | None) -> None:
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
                if make is None:
                    with applying() as apply:
                        for _ in range(size):
                            e = apply(OPS["add"], e, X)
                else:
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


def test_batches_do_what_apply_does() -> None:
    with applying() as apply:
        assert apply(OPS["add"], X, X) is Apply(OPS["add"], X, X)
        made = apply(OPS["mul"], Literal(u32, 12345), X)
        assert made.dtype is u32
        assert apply(OPS["lt"], X, X).dtype is Apply(OPS["lt"], X, X).dtype
        for op, first, second in ((OPS["add"], X, F), (OPS["sqrt"], F, F), (OPS["fma"], F, F), (OPS["and"], F, F)):
            with pytest.raises(TypeMismatch):
                apply(op, first, second)
    assert made is Apply(OPS["mul"], Literal(u32, 12345), X)
