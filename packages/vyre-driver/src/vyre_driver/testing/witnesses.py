"""Small programs whose results are known without running them: NumPy says what each must give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vyre_driver.errors import Trapped
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse

if TYPE_CHECKING:
    import numpy.typing as npt

Arrays = Mapping[str, "npt.NDArray[np.uint32]"]
TAG = "seven"
"""Of the trap of `trapping`, which has the code 7."""


@dataclass(frozen=True, slots=True)
class WitnessProgram:
    """A program of u32 buffers, the inputs to try it with, and what it does to all of its buffers, in place."""

    program: Program
    inputs: Arrays
    effect: Callable[[Arrays], None]

    @property
    def given(self) -> list[npt.NDArray[np.uint32]]:
        """The inputs in binding order, fresh."""
        return [self.inputs[b.name].copy() for b in self.program.inputs]

    @property
    def expected(self) -> list[bytes]:
        """The outputs in binding order."""
        sizes = {b.name: len(next(iter(self.inputs.values()))) for b in self.program.outputs}
        memory = {name: np.zeros(size, np.uint32) for name, size in sizes.items()}
        memory |= {name: array.copy() for name, array in self.inputs.items()}
        self.effect(memory)
        return [memory[b.name].tobytes() for b in self.program.outputs]


def doubling(count: int = 1000) -> WitnessProgram:
    """The program ``out = 2 x`` over `count` elements of u32."""
    with program("doubling", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        out[i] = x[i] * 2

    def effect(m: Arrays) -> None:
        m["out"][:] = m["x"] * 2

    return WitnessProgram(p.build(), {"x": np.arange(count, dtype=np.uint32) * 7919}, effect)


def in_place(count: int = 100) -> WitnessProgram:
    """x += n, and a count of what is odd then: an output that is an input, a uniform, two outputs."""
    with program("in_place", workgroup_size=32) as p:
        x = p.read_write("x", u32)
        n = p.uniform("n", u32, 1)
        odd = p.write("odd", u32, like=x)
        i = p.global_id(0)
        x[i] = x[i] + n[0]
        odd[i] = x[i] & 1

    def effect(m: Arrays) -> None:
        m["x"][:] += m["n"][0]
        m["odd"][:] = m["x"] & 1

    return WitnessProgram(p.build(), {"x": np.arange(count, dtype=np.uint32), "n": np.array([5], np.uint32)}, effect)


def counting() -> WitnessProgram:
    """kept += x, out = kept: persistent memory."""
    with program("counting", workgroup_size=8) as p:
        x = p.read("x", u32, 8)
        out = p.write("out", u32, 8)
        persistent = p.persistent("kept", u32, 8)
        i = p.global_id(0)
        persistent[i] = persistent[i] + x[i]
        out[i] = persistent[i]

    def effect(m: Arrays) -> None:
        m["out"][:] = m["x"]

    return WitnessProgram(p.build(), {"x": np.arange(8, dtype=np.uint32)}, effect)


def trapping() -> WitnessProgram:
    """A trap where x is 7."""
    with program("trapping", workgroup_size=8) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        with p.if_(x[i] == 7):
            p.trap(x[i], TAG)
        out[i] = x[i]

    def effect(m: Arrays) -> None:
        found = np.flatnonzero(m["x"] == 7)
        if len(found):
            raise Trapped(TAG, 7, int(found[0]))
        m["out"][:] = m["x"]

    return WitnessProgram(p.build(), {"x": np.arange(16, dtype=np.uint32)}, effect)


def permuted() -> WitnessProgram:
    """out = a - b, bound before its inputs, and these the other way round."""
    text = """program permuted workgroup(32, 1, 1) {
      write out: u32[len(b)] @0; read b: u32[] @1; read a: u32[] @2;
      out[global_id.x] = a[global_id.x] - b[global_id.x];
    }"""

    def effect(m: Arrays) -> None:
        m["out"][:] = m["a"] - m["b"]

    a, b = np.arange(70, dtype=np.uint32) * 7919, np.arange(70, dtype=np.uint32) * 31
    return WitnessProgram(parse(text), {"a": a, "b": b}, effect)


WITNESSES = (doubling(), in_place(), counting(), trapping(), permuted())
