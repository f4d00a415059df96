"""Random recurrences: valid, the same for a seed, and of all kinds. The reference's tests look for races in them."""

from collections import Counter
from functools import cache

from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Literal, Load
from vyre_foundation.ir.stmt import Break, For, If, Store
from vyre_foundation.ir.walk import program_expressions, statements
from vyre_foundation.testing import GeneratedProgram, recurrence


@cache
def programs() -> list[GeneratedProgram]:
    return [recurrence(seed) for seed in range(200)]


def test_programs_are_valid() -> None:
    for made in programs():
        made.program.validate()


def test_a_seed_has_one_program() -> None:
    again = recurrence(7)
    assert again.program == programs()[7].program
    assert again.inputs == programs()[7].inputs
    assert programs()[7].program != programs()[8].program


def test_all_kinds_of_loops_come() -> None:
    found = Counter[str]()
    for made in programs():
        found.update(buffer.memory.value for buffer in made.program.buffers)
        found.update(str(buffer.dtype) for buffer in made.program.buffers)
        for stmt in statements(made.program.body):
            match stmt:
                case For(start=Literal(), stop=Literal(), body=body) if any(isinstance(s, Store) for s in body):
                    found["known"] += 1
                case For(step=step, body=body):
                    found[f"step {step}"] += 1
                    found["nested"] += any(isinstance(s, For) for s in body)
                case If() | Break():
                    found[type(stmt).__name__] += 1
                case _:
                    pass
        found["loads"] += sum(isinstance(node, Load) for node in program_expressions(made.program))
    kinds = [m.value for m in (Memory.STORAGE, Memory.SCRATCH, Memory.WORKGROUP, Memory.PRIVATE)]
    kinds += ["known", "nested", "step 1", "step 2", "If", "Break", "loads", "f16", "bf16", "i8", "u64", "f64"]
    assert all(found[kind] >= 3 for kind in kinds), found
