"""How often each of several words occurs: an Aho-Corasick automaton in constant memory, compared with bytes.find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from vyre.demo.corpus import Corpus
from vyre.demo.job import Array, Job
from vyre_driver import DispatchConfig
from vyre_foundation import Program, program, select, u8, u16, u32
from vyre_foundation.functions import min as least

WORDS = (
    b"import",
    b"return",
    b"lambda",
    b"yield",
    b"self.",
    b"class ",
    b"raise",
    b"Error",
    b"TypeError",
    b"is not None",
)
CHUNK = 256
"""Bytes that one invocation answers for; it starts one word earlier, in the initial state."""


def automaton(words: Sequence[bytes]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint32]]:
    """The transition table (states × 256) and, for each state, the set of words that end there as bits."""
    children: list[dict[int, int]] = [{}]
    ends = [0]
    for bit, word in enumerate(words):
        state = 0
        for byte in word:
            if byte not in children[state]:
                children[state][byte] = len(children)
                children.append({})
                ends.append(0)
            state = children[state][byte]
        ends[state] |= 1 << bit

    table = np.zeros((len(children), 256), np.uint16)
    fallback = [0] * len(children)
    queue = [0]
    for state in queue:  # breadth first, so the state that a state falls back to is complete
        table[state] = table[fallback[state]] if state else 0
        for byte, child in children[state].items():
            fallback[child] = int(table[fallback[state], byte]) if state else 0
            table[state, byte] = child
            ends[child] |= ends[fallback[child]]
            queue.append(child)
    return table, np.array(ends, np.uint32)


def scan_program(words: Sequence[bytes]) -> Program:
    """`count` gets the number of occurrences of each word in `text`, overlapping ones included."""
    table, ends = automaton(words)
    overlap = max(map(len, words)) - 1
    with program("multi_literal_scan", workgroup_size=64) as p:
        text = p.read("text", u8)
        count = p.write("count", u32, len(words))
        transitions = p.constant("transitions", u16, table.ravel())
        ending = p.constant("ending", u32, ends)
        local = p.workgroup("local_count", u32, len(words))

        first = p.let(p.global_id(0) * CHUNK)
        begin = p.let(select(first > overlap, first - overlap, 0))
        state = p.var(0, u32, "state")
        with p.range(begin, least(first + CHUNK, text.length), name="position") as position:
            state.set(transitions[state.get() << 8 | text[position].cast(u32)].cast(u32))
            found = p.let(ending[state.get()])
            with (
                p.if_((found != 0) & (position >= first)),
                p.range(0, len(words), name="word") as word,
                p.if_((found >> word & 1) != 0),
            ):
                local.atomic_add(word, 1)
        p.barrier()
        with p.if_(p.local_id(0) < len(words)):
            count.atomic_add(p.local_id(0), local[p.local_id(0)])
    return p.build()


def occurrences(text: bytes, word: bytes) -> int:
    """How often `word` occurs in `text`, overlapping occurrences included."""
    total, at = 0, text.find(word)
    while at >= 0:
        total += 1
        at = text.find(word, at + 1)
    return total


def job(corpus: Corpus) -> Job:
    """Count the occurrences of words in a text."""

    def oracle() -> Mapping[str, Array]:
        text = corpus.text.tobytes()
        return {"count": np.array([occurrences(text, w) for w in WORDS], np.uint32)}

    return Job(
        name=f"scan for {len(WORDS)} words",
        program=scan_program(WORDS),
        inputs={"text": corpus.text},
        oracle_name="bytes.find",
        oracle=oracle,
        config=DispatchConfig(label="scan", grid_override=(-(-corpus.text.size // (CHUNK * 64)), 1, 1)),
    )
