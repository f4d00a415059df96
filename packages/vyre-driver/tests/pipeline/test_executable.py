"""What a dispatch needs survives as bytes: names, declarations, schedules with loops of the host."""

import pytest

from vyre_driver.lower.legalize import legalize
from vyre_driver.lower.lowered import TRAPS, Repeat
from vyre_driver.pipeline.executable import Executable
from vyre_driver.testing.target import generous_target
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import WireError


def simple() -> Program:
    with program("simple", workgroup_size=(8, 2, 1)) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        table = p.constant("table", u32, [3, 1, 2])
        out[p.global_id(0)] = x[p.global_id(0)] ^ table[1]
    return p.build()


def rounds() -> Program:
    """Grid barriers in loops, which the host counts: from another loop's counter to a buffer's length."""
    with program("rounds", workgroup_size=4) as p:
        x = p.read_write("x", u32)
        i = p.global_id(0)
        with p.range(0, x.length) as outer, p.range(outer, x.length * 2, 3) as inner:
            with p.if_(x[i] == 77):
                p.trap(7, "odd")
            x[i] = x[i] + inner
            p.grid_barrier()
    return p.build()


def executable(source: Program) -> Executable:
    lowered = legalize(source, source.validate(), generous_target())
    return Executable.of(lowered, [f"entry_{n}" for n, _ in enumerate(lowered.kernels)])


def test_the_host_s_part_of_a_simple_program() -> None:
    made = executable(simple())
    assert made.declared == ("x", "out", "table")
    assert (made.inputs, made.outputs, [*made.buffers]) == (("x",), ("out",), ["x", "out"])
    (entry,) = made.entries
    assert (entry.name, entry.workgroup_size, entry.buffers) == ("entry_0", (8, 2, 1), ("x", "out"))


def test_the_host_s_part_of_nested_loops() -> None:
    made = executable(rounds())
    (outer,) = made.schedule
    assert isinstance(outer, Repeat)
    assert any(isinstance(step, Repeat) and step.counter != outer.counter for step in outer.body)
    assert made.traps == ("odd",)
    assert TRAPS in made.buffers


@pytest.mark.parametrize("source", [simple(), rounds()], ids=lambda source: source.name)
def test_bytes_give_the_same_executable(source: Program) -> None:
    made = executable(source)
    again = Executable.from_bytes(made.to_bytes())
    assert again == made
    assert again.to_bytes() == made.to_bytes()


@pytest.mark.parametrize("data", [b"", b"{}", b"{}\0", executable(simple()).to_bytes()[:-1]])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises((ValueError, LookupError, WireError)):
        Executable.from_bytes(data)
