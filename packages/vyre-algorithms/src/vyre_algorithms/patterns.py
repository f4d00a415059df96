"""Search for many patterns at once, by the automaton of Aho and Corasick."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vyre_algorithms.arguments import Array, Backend, HostArray, known, type_of, vector
from vyre_algorithms.digest import Message, bytes_of
from vyre_algorithms.launches import launch, slots_beside
from vyre_algorithms.scans import scan
from vyre_driver.errors import InvalidInput
from vyre_foundation import (
    LengthOf,
    Program,
    program,
    u8,
    u32,
)
from vyre_foundation.dtype import bool_
from vyre_foundation.functions import min as least

GROUP = 64
CHUNK = 1 << 12
"""Bytes whose matches an invocation finds."""
FEW = 1 << 12
"""The most matches for which there is memory before they are counted: a launch clears it."""


def find_all(text: object, /, patterns: Iterable[Message], *, backend: Backend = None) -> tuple[Array, Array]:
    """Find all occurrences of many patterns, including overlapping ones.

    Args:
        text: Bytes, or an array of uint8 with one axis.
        patterns: Bytes-like objects that are not empty. The automaton is cached for the patterns.
        backend: As for `vyre.run`.

    Returns:
        Where each match begins, and the number of its pattern, both of int64. They are NumPy arrays, in the order of
        the ends of the matches; of those with the same end the longest is first, and of equal patterns the first.

    Raises:
        InvalidInput: A pattern is empty or not bytes-like, or an argument is invalid.
    """
    if isinstance(text, memoryview) and not text.c_contiguous:
        text = bytes(text)
    whole = np.frombuffer(text, np.uint8) if isinstance(text, (bytes, bytearray, memoryview)) else text
    array = known(vector(whole, "text"), "text")
    if type_of(array, "text") is not u8:
        raise InvalidInput("text", needed="bytes or an array of uint8", got=f"one of {array.dtype}", fix="pass bytes")
    words = tuple(bytes_of(patterns, "patterns"))
    if not all(words):
        raise InvalidInput("patterns", needed="patterns that are not empty", got="an empty one", fix="leave it out")
    if not words or not array.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    automaton = _automaton(words)
    given, most = {"text": array, **automaton.given}, array.size * automaton.most
    if array.size <= CHUNK and most <= FEW:
        given["slots"] = slots_beside(array, most)
        found = launch(_matches(has_counts=True, has_matches=True), given, 1, backend)
        total = found["counts"].item()
    else:
        grid = -(-array.size // (CHUNK * GROUP))
        counts = launch(_matches(has_counts=True, has_matches=False), given, grid, backend)["counts"]
        after = np.asarray(scan(counts, backend=backend))
        total = int(after[-1])
        if total >= 1 << 31:
            raise InvalidInput("text", needed="fewer than 2**31 matches", got=str(total), fix="split the text")
        if not total:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        starts = (after - np.asarray(counts)).astype(np.uint32)
        given |= {"starts": starts, "slots": slots_beside(array, total)}
        found = launch(_matches(has_counts=False, has_matches=True), given, grid, backend)
    ends, numbers = (np.asarray(found[name][:total]).astype(np.int64) for name in ("ends", "numbers"))
    return ends + 1 - automaton.lengths[numbers], numbers


class _Automaton(NamedTuple):
    """What programs are given of it, the lengths of the patterns, and how many of them end in one state at most."""

    given: dict[str, HostArray]
    lengths: HostArray
    most: int


@lru_cache(maxsize=8)
def _automaton(words: tuple[bytes, ...]) -> _Automaton:
    """The state after each byte class, and the patterns that end in each state: the longest first."""
    classes = np.zeros(256, np.uint8)
    used = sorted(set(b"".join(words)))
    width = len(used) + 1 if len(used) < 256 else 256
    classes[used] = np.arange(width - len(used), width)
    steps: list[dict[int, int]] = [{}]
    endings: list[list[int]] = [[]]
    for number, word in enumerate(words):
        state = 0
        for byte in classes[list(word)].tolist():
            if byte not in steps[state]:
                steps[state][byte] = len(steps)
                steps.append({})
                endings.append([])
            state = steps[state][byte]
        endings[state].append(number)
    table = np.zeros((len(steps), width), np.uint32)
    shorter = [0] * len(steps)
    queue = deque([0])
    while queue:
        state = queue.popleft()
        if state:
            table[state] = table[shorter[state]]
            endings[state] += endings[shorter[state]]
        for byte, target in steps[state].items():
            shorter[target] = int(table[state, byte])
            table[state, byte] = target
            queue.append(target)
    offsets, lengths = np.cumsum([0, *map(len, endings)]), np.array([len(word) for word in words])
    given: dict[str, HostArray] = {
        "table": table.reshape(-1),
        "classes": classes,
        "offsets": offsets.astype(np.uint32),
        "endings": np.array([number for ended in endings for number in ended], np.uint32),
        "width": np.array([width], np.uint32),
        "overlap": np.array([lengths.max() - 1], np.uint32),
    }
    return _Automaton(given, lengths, max(map(len, endings)))


@lru_cache(maxsize=3)
def _matches(*, has_counts: bool, has_matches: bool) -> Program:
    """The matches that end in each chunk: how many, or where and which, or both if there is one chunk.

    States are those of the text before it, too.
    """
    with program("find_all", GROUP) as p:
        text, table, classes = p.read("text", u8), p.read("table", u32), p.read("classes", u8)
        offsets, endings = p.read("offsets", u32), p.read("endings", u32)
        width, overlap = p.uniform("width", u32, 1), p.uniform("overlap", u32, 1)
        chunk = p.global_id(0)
        begin = p.let(chunk * CHUNK)
        end, before = p.let(least(begin + CHUNK, text.length)), p.let(least(begin, overlap[0]))
        state, number = p.var(0, u32), p.var(0, u32)
        if has_counts:
            counts = p.write("counts", u32, LengthOf("text", over=CHUNK))
        else:
            number.set(p.read("starts", u32)[chunk])
        if has_matches:
            p.read("slots", bool_)
            ends, numbers = (p.write(name, u32, LengthOf("slots")) for name in ("ends", "numbers"))
        with p.if_(begin < text.length), p.range(begin - before, end) as k:
            state.set(table[state * width[0] + classes[text[k].cast(u32)].cast(u32)])
            with p.if_(k >= begin):
                first, last = p.let(offsets[state]), p.let(offsets[state + 1])
                if has_matches:
                    with p.range(first, least(last, endings.length)) as n:
                        ends[number] = k
                        numbers[number] = endings[n]
                        number += 1
                else:
                    number.set(number + (last - first))
        if has_counts:
            counts[chunk] = number
    return p.build()
