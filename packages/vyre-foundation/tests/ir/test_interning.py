"""The intern table: it has what is alive and nothing else, and threads agree on identity."""

import gc
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from vyre_foundation.dtype import bool_, f32, u32
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir import Apply, Expr, Literal, Local, Select
from vyre_foundation.ir.expr import interned, interned_count
from vyre_foundation.ops import OPS

X, F, FLAG = Local("x", u32), Local("f", f32), Local("flag", bool_)


def chain(size: int, name: str) -> Expr:
    e: Expr = Local(name, u32)
    for step in range(size):
        e = Apply(OPS["add"], e, Literal(u32, step % 7))
    return e


def alone(name: str) -> None:
    """Call a function of this file in a process of its own, where no other test keeps or drops expressions."""
    call = "import runpy, sys; runpy.run_path(sys.argv[1])[sys.argv[2]]()"
    subprocess.run([sys.executable, "-c", call, __file__, name], check=True, timeout=120)


def forget_at_once() -> None:
    leaves = [Literal(u32, step) for step in range(7)]
    before = interned_count()
    held = chain(10_000, "held")
    dropped = chain(10_000, "dropped")
    assert interned_count() == before + 20_002
    del dropped
    assert interned_count() == before + 10_001
    assert held is chain(10_000, "held")
    del held
    assert interned_count() == before
    del leaves


def test_expressions_are_forgotten_as_soon_as_nothing_refers_to_them() -> None:
    alone("forget_at_once")


def forget_deep() -> None:
    before = interned_count()
    deep = chain(200_000, "deep")
    assert interned_count() >= before + 200_000
    del deep
    assert interned_count() <= before


def test_the_end_of_a_deep_expression_needs_no_deep_stack() -> None:
    alone("forget_deep")


def test_operands_of_a_held_expression_stay() -> None:
    e = chain(1000, "below")
    below = e.args[0].args[0]
    identity = id(below)
    del below
    assert id(e.args[0].args[0]) == identity
    assert e.args[0].args[0] is chain(998, "below")


@pytest.mark.parametrize("make", [lambda op, *args: Apply(op, *args), lambda op, *args: Select(FLAG, *args)])
def test_threads_agree_on_identity(make: Callable[..., Expr]) -> None:
    """All threads make the same expressions at once, while others of the same structure die."""
    threads, iterations, size = 4, 12, 200
    start = threading.Barrier(threads)
    results: list[list[Expr]] = [[] for _ in range(threads)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for iteration in range(iterations):
                start.wait()
                e: Expr = Local(f"iteration{iteration}", u32)
                for step in range(size):
                    make(OPS["mul"], e, X)  # dies at once, often while another thread looks for it
                    e = make(OPS["add"], e, X)
                    assert make(OPS["add"], *e.args[-2:]) is e, step
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


def test_a_finalizer_may_build_expressions() -> None:
    """It runs wherever the collector does, also while its thread enters an expression into the table."""
    made: list[Expr] = []

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            made.append(Apply(OPS["add"], X, Local("finalized", u32)))

    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            Cycle()
            chain(10, "between")
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert len(made) == 200
    assert len(set(made)) == 1


def test_interned_finds_what_is_alive_and_makes_nothing() -> None:
    operands = (X, Local("shared", u32))
    assert interned(OPS["sub"], operands) is None
    first = Apply(OPS["sub"], *operands)
    assert interned(OPS["sub"], operands) is first
    assert interned(OPS["mul"], operands) is None
    del first
    assert interned(OPS["sub"], operands) is None


def test_ill_typed_applications_are_refused_and_not_entered() -> None:
    before = interned_count()
    for op, operands in [("add", (X, F)), ("sqrt", (F, F)), ("fma", (F, F)), ("and", (F, F)), ("add", ())]:
        for _ in range(2):
            with pytest.raises(TypeMismatch):
                Apply(OPS[op], *operands)
    gc.collect()
    assert interned_count() <= before
