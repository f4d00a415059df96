"""Text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import programs
from programs.sizes import GROUP, PATTERN
from programs.text import LINE, transitions

from workloads.work import Launch, Work, Workload

N = 2**24


def letters(n: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(b"abcd", np.uint8)[np.random.default_rng(1).integers(0, 4, n)]


def found(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """1 where the pattern begins."""
    places = text.size - len(PATTERN) + 1
    at = np.ones(places, bool)
    for n, letter in enumerate(PATTERN):
        at &= text[n : n + places] == letter
    return np.concatenate([at, np.zeros(len(PATTERN) - 1, bool)]).view(np.uint8)


def byte_scan(n: int) -> Work:
    text = letters(n)
    return Work(
        program=programs.byte_scan(),
        grid=(n // GROUP, 1, 1),
        inputs={"text": text},
        wanted=found(text),
        amount=n,
        bytes=2 * n,
        operations=15 * n,
        sizes=(n,),
        launches=(Launch("byte_scan", (n // GROUP,), (GROUP,), ("text", "out", n - len(PATTERN) + 1)),),
    )


def word_scan(n: int) -> Work:
    text = letters(n)
    words = n // 4
    return Work(
        program=programs.word_scan(),
        grid=(words // GROUP, 1, 1),
        inputs={"text": text.view(np.uint32)},
        wanted=found(text).view(np.uint32),
        amount=n,
        bytes=2 * n,
        operations=33 * words,
        sizes=(words,),
        launches=(Launch("word_scan", (words // GROUP,), (GROUP,), ("text", "out", words)),),
    )


def automaton(n: int) -> Work:
    text, lines = letters(n), n // LINE
    inside = found(text).reshape(-1, LINE)[:, : LINE - len(PATTERN) + 1]
    return Work(
        program=programs.automaton(),
        grid=(lines // GROUP, 1, 1),
        inputs={"text": text},
        wanted=inside.sum(axis=1, dtype=np.uint8),
        amount=n,
        bytes=n + lines,
        operations=4 * n,
        sizes=(lines,),
        launches=(Launch("automaton", (lines // GROUP,), (GROUP,), ("text", "table", "out")),),
        tables={"table": np.array(transitions(), np.uint8)},
    )


WORKLOADS = {
    "byte scan": Workload(domain="text", unit="GB/s", size=N, toy=GROUP, make=byte_scan),
    "word scan": Workload(domain="text", unit="GB/s", size=N, toy=4 * GROUP, make=word_scan),
    "automaton": Workload(domain="text", unit="GB/s", size=N, toy=LINE * GROUP, make=automaton),
}
