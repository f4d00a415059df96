"""Random loops along rows: valid, the same for a seed, and with rows that are walked in both directions."""

from functools import cache

from vyre_foundation.ir.stmt import Break, Continue, For, Store
from vyre_foundation.ir.walk import statements
from vyre_foundation.testing import GeneratedProgram, row_walk


@cache
def programs() -> list[GeneratedProgram]:
    return [row_walk(seed) for seed in range(60)]


def test_a_seed_has_one_program() -> None:
    again = row_walk(7)
    assert (again.program, again.inputs) == (programs()[7].program, programs()[7].inputs)
    assert programs()[7].program != programs()[8].program


def test_every_program_is_valid() -> None:
    """`validate` raises for one that is not."""
    assert [made.program.validate().program for made in programs()] == [made.program for made in programs()]


def test_loops_are_nested_left_and_store_rows() -> None:
    whole = [[*statements(made.program.body)] for made in programs()]
    loops = [s for body in whole for s in body if isinstance(s, For)]
    assert sum(isinstance(inner, For) for loop in loops for inner in statements(loop.body)) >= 10
    assert sum(isinstance(s, (Break, Continue)) for body in whole for s in body) >= 10
    assert sum(isinstance(s, Store) and s.buffer.name == "rows" for body in whole for s in body) >= 10
    assert sum(loop.trip_count is None for loop in loops) >= 30
