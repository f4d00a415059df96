"""What a dispatch needs survives as bytes: names, declarations, schedules with loops of the host."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from vyre_driver.codegen.lower import legalize
from vyre_driver.legalization.schedule import TRAPS, Repeat
from vyre_driver.pipeline.executable import ExecutableManifest
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


def executable(source: Program) -> ExecutableManifest:
    lowered = legalize(source, source.validate(), generous_target())
    return ExecutableManifest.of(lowered, [f"entry_{n}" for n, _ in enumerate(lowered.kernels)])


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
    again = ExecutableManifest.from_bytes(made.to_bytes())
    assert again == made
    assert again.to_bytes() == made.to_bytes()


@pytest.mark.parametrize("data", [b"", b"{}", b"{}\0", executable(simple()).to_bytes()[:-1]])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises((ValueError, LookupError, WireError)):
        ExecutableManifest.from_bytes(data)


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """An executable with another head."""
    text, _, host = executable(rounds()).to_bytes().partition(b"\0")
    names = json.loads(text)
    change(names)
    return json.dumps(names).encode() + b"\0" + host


Change = Callable[[dict[str, Any]], object]


def entry(size: object, buffers: Sequence[str] = (), lengths: Sequence[str] = (), most: object = 1) -> Change:
    return lambda names: names["entries"].__setitem__(0, ["k", size, buffers, lengths, most])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda names: names.update(declared="x"), "'declared': got a string, expected a list"),
        (lambda names: names.update(inputs=[5]), "'inputs': got a list, expected a list of strings"),
        (lambda names: names.update(outputs=["nothing"]), "'nothing' is not declared"),
        (lambda names: names.update(entries=[]), "there is no kernel 0"),
        (lambda names: names.update(entries=[5]), "not a list of five parts"),
        (entry([1, 1]), "the kernel 'k' has no size"),
        (entry([1, 1, -1]), "the kernel 'k' has no size"),
        (entry([1, 1, 1.0]), "the kernel 'k' has no size"),
        (entry([1, 1, 2**32]), "the kernel 'k' has no size"),
        (entry([1, 1, 1], most=0), "the kernel 'k' has no size"),
        (entry([1, 1, 1], buffers=["y"]), "takes 'y', which is no buffer"),
        (entry([1, 1, 1], lengths=["y"]), "takes 'y', which is no buffer"),
        (lambda names: names.pop("traps"), "there is no 'traps'"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(change: Change, message: str) -> None:
    assert ExecutableManifest.from_bytes(changed(lambda names: None)) == executable(rounds())
    with pytest.raises(ValueError, match=re.escape(message)):
        ExecutableManifest.from_bytes(changed(change))
