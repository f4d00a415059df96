"""Random addresses: valid, the same for a seed, and of the kinds that turn loads into vectors."""

from functools import cache

from vyre_foundation.ir.expr import Apply, Load
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.testing import GeneratedProgram, addressing


@cache
def programs() -> list[GeneratedProgram]:
    return [addressing(seed) for seed in range(60)]


def test_a_seed_has_one_program() -> None:
    again = addressing(7)
    assert (again.program, again.inputs) == (programs()[7].program, programs()[7].inputs)
    assert programs()[7].program != programs()[8].program


def test_every_program_is_valid() -> None:
    """`validate` raises for one that is not."""
    assert [made.program.validate().program for made in programs()] == [made.program for made in programs()]


def test_indices_are_masks_quotients_and_plain_counters() -> None:
    loads = [n.index for made in programs() for n in program_expressions(made.program) if isinstance(n, Load)]
    ops = [index.op.id for index in loads if isinstance(index, Apply)]
    assert ops.count("rem") + ops.count("and") >= 10
    assert ops.count("div") >= 3
    assert sum(not isinstance(index, Apply) for index in loads) >= 60
