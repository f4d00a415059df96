"""What is lowered is the optimized program; what it is found by is the program as it was written."""

from collections.abc import Callable
from types import SimpleNamespace

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.legalization.lowered import Lowered
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.optimize import optimize
from vyre_foundation.validate.facts import Facts


def with_a_dead_load() -> Program:
    with program("with a dead load", 4) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        p.let(x[0] * 2)
        out[p.global_id(0)] = x[p.global_id(0)]
    return p.build()


def test_lowering_gets_the_optimized_program(
    engine: Callable[..., SimpleNamespace], lowering: Callable[[Callable[..., Lowered]], None]
) -> None:
    from vyre_driver.engine.lowering import legalize as as_written

    seen: list[tuple[Program, Facts]] = []

    def noting(program: Program, facts: Facts, target: object, arrangement: object) -> Lowered:
        seen.append((program, facts))
        return as_written(program, facts, target, arrangement)

    lowering(noting)
    source = with_a_dead_load()
    engine().backend.compile_native(source, DispatchConfig())
    ((lowered, facts),) = seen
    assert lowered == optimize(source.validate()).program != source
    assert facts.program is lowered
