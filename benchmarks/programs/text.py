"""Text: a pattern at every place, by bytes and by words, and an automaton over every line."""

from __future__ import annotations

from programs.sizes import GROUP, PATTERN
from vyre_foundation import LengthOf, Program, program, u8, u32

LINE = 64
"""Bytes of a line."""


def byte_scan() -> Program:
    """1 for every place of the text where the pattern begins."""
    with program("byte_scan", GROUP) as p:
        text = p.read("text", u8)
        out = p.write("out", u8, like=text)
        i = p.global_id(0)
        here = text[i] == PATTERN[0]
        for n, letter in enumerate(PATTERN[1:], 1):
            here = here & (text[i + n] == letter)
        out[i] = here.cast(u8)
    return p.build()


def word_scan() -> Program:
    """The same with four places of the text in a word: a byte of the result is 1 where the pattern begins."""
    low, high = (int.from_bytes(PATTERN[start : start + 4], "little") for start in (0, 4))
    with program("word_scan", GROUP) as p:
        text = p.read("text", u32)
        out = p.write("out", u32, like=text)
        i = p.global_id(0)
        words = [p.let(text[i + n]) for n in range(3)]
        found = ((words[0] == low) & (words[1] == high)).cast(u32)
        for bits in (8, 16, 24):
            first, second = ((words[n] >> bits) | (words[n + 1] << (32 - bits)) for n in (0, 1))
            found = found | (((first == low) & (second == high)).cast(u32) << bits)
        out[i] = found
    return p.build()


def automaton() -> Program:
    """How often the pattern is in each line: one step of an automaton, from a table, for each byte."""
    states = len(PATTERN) + 1
    with program("automaton", GROUP) as p:
        text = p.read("text", u8)
        table = p.constant("table", u8, transitions())
        out = p.write("out", u8, LengthOf("text", over=LINE))
        first = p.let(p.global_id(0) * LINE)
        state, found = p.var(0, u32), p.var(0, u32)
        with p.range(0, LINE) as n:
            state.set(table[state * 256 + text[first + n].cast(u32)].cast(u32))
            found.set(found + (state == states - 1).cast(u32))
        out[p.global_id(0)] = found.cast(u8)
    return p.build()


def transitions() -> list[int]:
    """For each state, the letters of the pattern that were seen last, and each byte: the next state."""
    states = [PATTERN[:length] for length in range(len(PATTERN) + 1)]
    table = []
    for seen in states:
        for byte in range(256):
            read = seen + bytes([byte])
            table.append(max(length for length, state in enumerate(states) if read.endswith(state)))
    return table
