"""A planted failure shrinks to the statement that causes it."""

from collections.abc import Callable
from itertools import islice

import pytest

from vyre_foundation.ir.expr import Apply, Cast, Literal, Load
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, Barrier, For, Stmt, Store
from vyre_foundation.ir.walk import expressions, postorder, program_expressions, statements
from vyre_foundation.testing import EVERYTHING, generate, shrink

Wrong = Callable[[Program], bool]


def applies(op: str) -> Wrong:
    return lambda program: any(isinstance(e, Apply) and e.op.id == op for e in program_expressions(program))


def has(kind: type[Stmt]) -> Wrong:
    return lambda program: any(isinstance(s, kind) for s in statements(program.body))


def load_in_loop(program: Program) -> bool:
    loops = [s for s in statements(program.body) if isinstance(s, For)]
    inside = [s for loop in loops for s in statements(loop.body) if isinstance(s, Store)]
    return any(isinstance(e, Load) for s in inside for e in postorder(expressions(s)))


# fmt: off
FAULTS: list[tuple[Wrong, int]] = [
    (applies("popcount"), 1), (applies("fma"), 1), (has(Atomic), 1), (has(Barrier), 1),
    (load_in_loop, 2), (has(Assign), 2),
]
# fmt: on


@pytest.mark.parametrize(("is_wrong", "size"), FAULTS)
def test_a_fault_shrinks_to_what_causes_it(is_wrong: Wrong, size: int) -> None:
    drawn = (generate(seed, EVERYTHING) for seed in range(120))
    found = list(islice((g for g in drawn if is_wrong(g.program)), 5))
    assert found
    for g in found:
        program, inputs = shrink(g.program, g.inputs, lambda p, _: is_wrong(p))
        program.validate()
        assert is_wrong(program)
        assert len(list(statements(program.body))) <= size, program.body
        assert sum(map(len, inputs.values())) <= 64


def test_an_input_shrinks_to_the_byte_that_matters() -> None:
    seed = next(s for s in range(100) if any(any(data) for data in generate(s).inputs.values()))
    g = generate(seed)
    name = next(n for n, data in g.inputs.items() if any(data))
    _, inputs = shrink(g.program, g.inputs, lambda _, data: name in data and any(data[name]))
    assert sum(byte != 0 for byte in inputs[name]) <= 8


def test_what_does_not_fail_smaller_stays() -> None:
    g = generate(7)
    program, inputs = shrink(g.program, g.inputs, lambda p, i: p == g.program and i == g.inputs, attempts=150)
    assert program == g.program
    assert inputs == g.inputs


def test_attempts_are_counted() -> None:
    g = generate(3)
    calls = 0

    def fails(program: Program, inputs: object) -> bool:
        nonlocal calls
        calls += 1
        return any(isinstance(e, Cast) for e in program_expressions(program))

    shrink(g.program, g.inputs, fails, attempts=25)
    assert calls <= 25


def rounds(loop: For) -> int:
    """How often a loop with literal bounds runs; 0 where they are not literal."""
    match loop.start, loop.stop:
        case Literal() as start, Literal() as stop:
            return int(stop.value) - int(start.value)
    return 0


def test_bounds_of_loops_never_grow() -> None:
    """Otherwise a candidate could run for the age of the universe."""
    for seed in range(20):
        g = generate(seed)
        seen: list[Program] = []

        def fails(program: Program, inputs: object, seen: list[Program] = seen) -> bool:
            seen.append(program)
            return has(For)(program)

        shrink(g.program, g.inputs, fails, attempts=150)
        assert all(rounds(s) <= 8 for p in seen for s in statements(p.body) if isinstance(s, For))
