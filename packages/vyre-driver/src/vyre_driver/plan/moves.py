"""Copies and fills as programs, so that they are steps of a sequence like any other dispatch.

A copy moves bits: elements are unsigned integers of the size of the type, which no store changes.
"""

from __future__ import annotations

from functools import cache

from vyre_driver.backend.config import Extent
from vyre_foundation.build import program
from vyre_foundation.dtype import u8, u16, u32, u64
from vyre_foundation.ir.program import Program

WORKGROUP = 64
WORDS = {word.size: word for word in (u8, u16, u32, u64)}


@cache
def copy_all(size: int) -> Program:
    """Copy a whole buffer to another; `size` is the bytes of an element."""
    word = WORDS[size]
    with program(f"copy_{word}", workgroup_size=WORKGROUP) as p:
        source = p.read("source", word)
        target = p.write("target", word, like=source)
        target[p.global_id(0)] = source[p.global_id(0)]
    return p.build()


@cache
def copy_range(size: int) -> Program:
    """Copy ``at[2]`` elements from ``source[at[0]]`` on to ``target[at[1]]`` and so on."""
    word = WORDS[size]
    with program(f"copy_{word}_range", workgroup_size=WORKGROUP) as p:
        source, at = p.read("source", word), p.uniform("at", u32, 3)
        target = p.read_write("target", word)
        i = p.global_id(0)
        with p.if_(i < at[2]):
            target[i + at[1]] = source[i + at[0]]
    return p.build()


@cache
def copy_within(size: int) -> Program:
    """The same within one buffer; the two ranges do not overlap."""
    word = WORDS[size]
    with program(f"copy_{word}_within", workgroup_size=WORKGROUP) as p:
        at, target = p.uniform("at", u32, 3), p.read_write("target", word)
        i = p.global_id(0)
        with p.if_(i < at[2]):
            target[i + at[1]] = target[i + at[0]]
    return p.build()


@cache
def fill_range(size: int) -> Program:
    """Set ``at[1]`` elements from ``target[at[0]]`` on to the element of `value`."""
    word = WORDS[size]
    with program(f"fill_{word}", workgroup_size=WORKGROUP) as p:
        value, at = p.uniform("value", word, 1), p.uniform("at", u32, 2)
        target = p.read_write("target", word)
        i = p.global_id(0)
        with p.if_(i < at[1]):
            target[i + at[0]] = value[0]
    return p.build()


@cache
def start_loop() -> Program:
    """Begin a loop: its word `go[0]` is 1 while it runs, and `go[1]` counts its iterations."""
    with program("start_loop", workgroup_size=1) as p:
        go = p.read_write("go", u32, 2)
        with p.if_(p.global_id(0) == 0):
            go[0] = 1
            go[1] = 0
    return p.build()


@cache
def begin_loop(size: int) -> Program:
    """Begin a loop as `start_loop` does, and set the element ``flag[at[0]]`` of `size` bytes to 0."""
    with program(f"begin_loop_{WORDS[size]}", workgroup_size=1) as p:
        at, flag, go = p.uniform("at", u32, 1), p.read_write("flag", WORDS[size]), p.read_write("go", u32, 2)
        with p.if_(p.global_id(0) == 0):
            go[0] = 1
            go[1] = 0
            flag[at[0]] = 0
    return p.build()


@cache
def clear_unless(size: int) -> Program:
    """End an iteration: the word of a loop becomes 0 if the element ``flag[at[0]]`` of `size` bytes is 0."""
    with program(f"clear_unless_{WORDS[size]}", workgroup_size=1) as p:
        flag, at = p.read("flag", WORDS[size]), p.uniform("at", u32, 1)
        go = p.read_write("go", u32, 2)
        with p.if_((p.global_id(0) == 0) & (go[0] != 0)):
            go[1] = go[1] + 1
            with p.if_(flag[at[0]] == 0):
                go[0] = 0
    return p.build()


@cache
def take_flag(size: int) -> Program:
    """End an iteration as `clear_unless` does, and set the element to 0."""
    with program(f"take_flag_{WORDS[size]}", workgroup_size=1) as p:
        at, flag, go = p.uniform("at", u32, 1), p.read_write("flag", WORDS[size]), p.read_write("go", u32, 2)
        with p.if_((p.global_id(0) == 0) & (go[0] != 0)):
            go[1] = go[1] + 1
            with p.if_(flag[at[0]] == 0):
                go[0] = 0
            flag[at[0]] = 0
    return p.build()


def grid_of(count: int) -> Extent:
    """The grid of a move of `count` elements."""
    return (-(-count // WORKGROUP), 1, 1)
