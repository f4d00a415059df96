"""A target may have its own passes in place of those of the optimizer and of lowering."""

from dataclasses import replace

import pytest

from vyre_driver.codegen.lower import KERNEL_PASSES, PROGRAM_PASSES, passes_of
from vyre_driver.engine.lowering import lowered_for, named_passes, run_pass
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.pipeline.key import describe_target
from vyre_driver.testing.target import generous_target
from vyre_driver.testing.witnesses import doubling
from vyre_foundation.ir.program import Program
from vyre_foundation.optimize import PASSES
from vyre_foundation.passes import Pass

TABLES = {stage.name: stage for stage in (*PASSES, *PROGRAM_PASSES, *KERNEL_PASSES)}


def marked(name: str) -> Pass[object]:
    """The pass with a trace: the name of the program that it gives."""

    def apply(program: Program, context: object) -> Program:
        return replace(TABLES[name].apply(program, context), name="marked")

    return Pass(name, "mark the program", apply)


@pytest.mark.parametrize("name", ["dead", "lower-traps", "to-registers"])
def test_a_replacement_runs_in_place_of_the_pass_of_its_name(name: str) -> None:
    target = replace(generous_target(), replacements=(marked(name),))
    seen = []
    lowered = lowered_for(target, doubling().program.validate(), watch=lambda stage, program: seen.append(stage))
    assert [kernel.name for kernel in lowered.kernels] == ["marked"]
    assert {stage.doc for stage in seen if stage.name == name} == {"mark the program"}
    right = []
    lowered_for(generous_target(), doubling().program.validate(), watch=lambda stage, program: right.append(stage))
    assert list(dict.fromkeys(s.name for s in seen)) == list(dict.fromkeys(s.name for s in right))


def test_it_is_found_by_its_name_and_runs_alone() -> None:
    target = replace(generous_target(), replacements=(marked("dead"), marked("to-registers")))
    for name in ("dead", "to-registers"):
        assert run_pass(named_passes(target)[name], doubling().program, target).name == "marked"
        assert run_pass(named_passes(generous_target())[name], doubling().program, generous_target()).name == "doubling"
    assert [stage.name for stage in passes_of(target)] == [stage.name for stage in passes_of(generous_target())]


def test_code_of_another_table_is_other_code() -> None:
    target = replace(generous_target(), replacements=(marked("dead"),))
    assert describe_target(target) != describe_target(generous_target())


def test_a_replacement_of_no_pass_is_refused() -> None:
    target = replace(generous_target(), replacements=(Pass("daed", "", lambda program, context: program),))
    with pytest.raises(UnsupportedFeature, match=r"a replacement of the pass 'daed'.*Fix: name one of .*dead"):
        lowered_for(target, doubling().program.validate())
