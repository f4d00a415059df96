"""Random accumulations: valid, the same for a seed, and such that the optimizer promotes some and leaves others."""

from functools import cache

from vyre_foundation.optimize.promote import PROMOTE
from vyre_foundation.testing import GeneratedProgram, accumulation


@cache
def programs() -> list[GeneratedProgram]:
    return [accumulation(seed) for seed in range(100)]


def test_a_seed_has_one_program() -> None:
    again = accumulation(7)
    assert (again.program, again.inputs) == (programs()[7].program, programs()[7].inputs)
    assert programs()[7].program != programs()[8].program


def test_many_are_promoted_and_many_are_not() -> None:
    promoted = sum(PROMOTE.apply(made.program, made.program.validate()) is not made.program for made in programs())
    assert 20 <= promoted <= 80
