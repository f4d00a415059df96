"""The builder: programs written as Python.

    with program("xor", workgroup_size=64) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] ^ b[i]
    xor = p.build()

A `Value` is an expression with Python's operators; numbers take the type of the other operand. Reading memory that the
program can write, or a mutable local, binds the value where it is read, so that it stays what it was: Python's order of
evaluation is the program's. Every statement remembers the line that wrote it, for messages.
"""

from vyre_foundation.build.arguments import DTypeLike
from vyre_foundation.build.blocks import Block
from vyre_foundation.build.memory import Array, Mutable
from vyre_foundation.build.recorder import ProgramBuilder, program
from vyre_foundation.build.values import Number, Operand, Operators, Value, apply, call, constant, select

__all__ = [
    "Array",
    "Block",
    "DTypeLike",
    "Mutable",
    "Number",
    "Operand",
    "Operators",
    "ProgramBuilder",
    "Value",
    "apply",
    "call",
    "constant",
    "program",
    "select",
]
