"""Which loops are unrolled."""

from contextlib import ExitStack

import pytest

from vyre_driver_cpu.loops import is_better_unrolled
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.stmt import For


def nested(*trips: int) -> list[For]:
    """Loops in each other, the outermost first; the innermost computes four operations that wait for each other."""
    with program("nested", workgroup_size=1) as p:
        out = p.write("out", u32, 1)
        value = p.var(3, u32)
        with ExitStack() as blocks:
            counters = [blocks.enter_context(p.range(0, number)) for number in trips]
            value.set((value * 5 ^ counters[-1]) + counters[0] * 7)
        out[0] = value
    return list(p.build().of(For))


@pytest.mark.parametrize(
    ("trips", "expected"),
    [
        ((16,), [True]),
        ((4000,), [False]),
        ((4, 8), [True, True]),
        ((16, 32), [False, True]),  # each is short alone, both together are not
        ((16, 4000), [True, False]),  # the code has the inner loop sixteen times
        ((16, 4, 32), [False, True, True]),
        ((2,) * 40, [False] * 33 + [True] * 7),
    ],
)
def test_the_unrolled_code_of_nested_loops_is_bounded(trips: tuple[int, ...], expected: list[bool]) -> None:
    assert list(map(is_better_unrolled, nested(*trips))) == expected
