"""The strategies draw what the generator makes."""

from hypothesis import given, settings

from vyre_foundation.testing import NARROW, GeneratedProgram, generate
from vyre_foundation.testing.strategies import programs


@given(programs(NARROW))
@settings(max_examples=20, deadline=None)
def test_a_drawn_program_is_that_of_its_seed(g: GeneratedProgram) -> None:
    again = generate(g.seed, NARROW)
    assert g.program == again.program
    assert g.inputs == again.inputs
    g.program.validate()
