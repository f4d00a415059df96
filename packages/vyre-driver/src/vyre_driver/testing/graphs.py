"""Random graphs with what they compute, by NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from vyre_driver.graph.nodes import BufferRange, Graph
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.recorded import RecordedRange
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u8, u32
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    import numpy.typing as npt

    Words = npt.NDArray[np.uint32]

LENGTHS = (1, 7, 64, 200)
Memory = dict[str, "Words"]
Action = Callable[[Memory], None]


@dataclass(frozen=True, slots=True)
class RandomGraph:
    """A graph of a seed, inputs for it, and the outputs that NumPy computes from them."""

    graph: Graph
    inputs: Mapping[str, Words]
    outputs: Mapping[str, Words]


def random_graph(seed: int, steps: int = 12) -> RandomGraph:
    """The graph of a seed: dispatches, copies, fills, loops and a nested graph over ranges of `u32`.

    Args:
        seed: The same seed gives the same graph in every process.
        steps: How many nodes it has at least.

    Returns:
        The graph with inputs and outputs.
    """
    return _Generator(seed).run(steps)


@cache
def programs() -> dict[str, Program]:
    """The programs that random graphs are made of, by name."""
    found: dict[str, Program] = {}
    with program("affine", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 3 + 1
    found["affine"] = p.build()
    with program("add", workgroup_size=32) as p:
        x, y = p.read("x", u32), p.read("y", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] + y[p.global_id(0)]
    found["add"] = p.build()
    with program("reverse", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[x.length - 1 - p.global_id(0)]
    found["reverse"] = p.build()
    with program("mix", workgroup_size=64) as p:
        y = p.read_write("y", u32)
        i = p.global_id(0)
        y[i] = y[i] ^ (y[i] >> 3)
    found["mix"] = p.build()
    with program("accumulate", workgroup_size=64) as p:
        x, y = p.read("x", u32), p.read_write("y", u32)
        i = p.global_id(0)
        with p.if_(x[i] > 5):
            y[i] = y[i] + x[i]
    found["accumulate"] = p.build()
    with program("split", workgroup_size=64) as p:
        x = p.read("x", u32)
        low, high = p.write("low", u32, like=x), p.write("high", u32, like=x)
        i = p.global_id(0)
        low[i] = x[i] & 0xFFFF
        with p.if_(i % 2 == 0):
            high[i] = x[i] >> 16
    found["split"] = p.build()
    with program("spin", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        v = p.var(x[i])
        with p.range(x[i] & 3) as k:
            v.set(v * 5 + k)
        out[i] = v
    found["spin"] = p.build()
    with program("count_down", workgroup_size=1) as p:
        left = p.read_write("left", u32)
        left[0] = left[0] - 1
    found["count_down"] = p.build()
    return found


def compute(name: str, given: Mapping[str, Words]) -> dict[str, Words]:
    """What a program of `programs` does, by NumPy: the outputs by name."""
    match name:
        case "affine":
            return {"out": given["x"] * np.uint32(3) + np.uint32(1)}
        case "add":
            return {"out": given["x"] + given["y"]}
        case "reverse":
            return {"out": given["x"][::-1].copy()}
        case "mix":
            return {"y": given["y"] ^ (given["y"] >> np.uint32(3))}
        case "accumulate":
            return {"y": np.where(given["x"] > 5, given["y"] + given["x"], given["y"])}
        case "spin":
            value = given["x"].copy()
            for k in range(3):
                value = np.where(given["x"] & 3 > k, value * np.uint32(5) + np.uint32(k), value)
            return {"out": value.astype(np.uint32)}
        case "split":
            even = np.arange(len(given["x"])) % 2 == 0
            high = np.where(even, given["x"] >> np.uint32(16), np.uint32(0)).astype(np.uint32)
            return {"low": given["x"] & np.uint32(0xFFFF), "high": high}
        case _:
            return {"left": given["left"] - np.uint32(1)}


class _Generator:
    """Records nodes, and an action of NumPy for each of them."""

    def __init__(self, seed: int, depth: int = 0) -> None:
        self._random, self._depth = Random(seed), depth
        self._recorder = GraphRecorder(f"random_{seed}")
        self._memory: Memory = {}
        self._ready: list[RecordedRange] = []
        self._bodies: list[list[Action]] = [[]]
        self._inputs: dict[str, Words] = {}
        self._outputs: list[tuple[str, RecordedRange]] = []

    def run(self, steps: int) -> RandomGraph:
        for number in range(self._random.randint(1, 3)):
            count = self._random.choice(LENGTHS)
            words = np.array([self._random.getrandbits(32) for _ in range(count)], np.uint32)
            self._inputs[f"in{number}"] = words
            self._ready.append(self._recorder.input(f"in{number}", u32, count))
        for _ in range(steps):
            self._node()
        for number, part in enumerate(self._random.sample(self._ready, min(3, len(self._ready)))):
            self._output(f"last{number}", part)
        graph = self._recorder.build()
        memory = {name: words.copy() for name, words in self._inputs.items()}
        for action in self._bodies[0]:
            action(memory)
        return RandomGraph(graph, self._inputs, {name: memory[f"output {name}"] for name, _ in self._outputs})

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _node(self) -> None:
        kinds = [self._dispatch] * 8 + [self._copy, self._fill, self._upload, self._early_output]
        if len(self._bodies) == 1:
            kinds += [self._loop, self._call] if self._depth == 0 else [self._loop]
        self._random.choice(kinds)()

    def _dispatch(self) -> None:
        name = self._random.choice([name for name in programs() if name != "count_down"])
        declared = programs()[name]
        x = self._pick()
        given: dict[str, RecordedRange] = {}
        for buffer in declared.inputs:
            free = [part for part in self._same_length(x) if not self._overlaps(part, given)]
            if buffer.is_output and not free:
                return
            given[buffer.name] = self._random.choice(free) if buffer.is_output else x
            if buffer.name == "y" and not buffer.is_output:
                given["y"] = self._random.choice(self._same_length(x))
        if any(self._overlaps(given[b.name], given, but=b.name) for b in declared.inputs if b.is_output):
            return
        for buffer in declared.outputs:
            if buffer.name not in given and self._random.random() < 0.3:
                free = [part for part in self._same_length(x) if not self._overlaps(part, given)]
                if free:
                    given[buffer.name] = self._random.choice(free)
        results = self._recorder.dispatch(declared, dict(given))
        bound = {**given, **results}

        def action(memory: Memory) -> None:
            arrays = {b.name: _read(memory, bound[b.name].range) for b in declared.inputs}
            for key, words in compute(name, arrays).items():
                _write(memory, bound[key].range, words)

        self._bodies[-1].append(action)
        self._ready += [part for key, part in results.items() if key not in given]

    def _copy(self) -> None:
        source = self._pick()
        targets = [part for part in self._same_length(source) if not part.range.overlaps(source.range)]
        if not targets or self._random.random() < 0.3:
            targets = [self._recorder.temporary(u32, len(source))]
            self._ready += targets
        target = self._random.choice(targets)
        bits = source.view(self._random.choice((u8, f32))) if self._random.random() < 0.3 else source
        self._recorder.copy(bits, target)
        self._bodies[-1].append(lambda memory: _write(memory, target.range, _read(memory, source.range)))

    def _fill(self) -> None:
        target, value = self._pick(), self._random.getrandbits(32)
        self._recorder.fill(target, value)
        self._bodies[-1].append(lambda memory: _write(memory, target.range, np.uint32(value)))

    def _upload(self) -> None:
        target = self._recorder.temporary(u32, self._random.choice(LENGTHS))
        words = np.array([self._random.getrandbits(32) for _ in range(len(target))], np.uint32)
        self._recorder.upload(target, words)
        self._bodies[-1].append(_writing(target.range, words))
        self._ready.append(target)

    def _early_output(self) -> None:
        self._output(f"out{len(self._outputs)}", self._pick())

    def _output(self, name: str, part: RecordedRange) -> None:
        self._recorder.output(name, part)
        self._outputs.append((name, part))
        self._bodies[-1].append(lambda memory: memory.__setitem__(f"output {name}", _read(memory, part.range)))

    def _loop(self) -> None:
        limit, stop = self._random.randint(1, 4), self._random.randint(1, 5)
        counts = self._random.random() < 0.5
        left = self._recorder.temporary(u32, 1)
        self._recorder.fill(left, stop)
        self._bodies[-1].append(lambda memory: _write(memory, left.range, np.uint32(stop)))
        self._bodies.append([])
        with self._recorder.repeat(limit, until_zero=left if counts else None):
            for _ in range(self._random.randint(1, 4)):
                self._node()
            self._recorder.dispatch(programs()["count_down"], left=left)
        body = self._bodies.pop()

        def action(memory: Memory) -> None:
            for done in range(limit):
                for inner in body:
                    inner(memory)
                _write(memory, left.range, np.uint32(stop - done - 1 & 0xFFFFFFFF))
                if counts and done + 1 == stop:
                    break

        self._bodies[-1].append(action)

    def _call(self) -> None:
        inner = _Generator(self._random.getrandbits(32), self._depth + 1)
        called = inner.run(5)
        given: dict[str, RecordedRange] = {}
        for name, words in called.inputs.items():
            part = self._recorder.temporary(u32, len(words))
            self._recorder.upload(part, words)
            self._bodies[-1].append(_writing(part.range, words))
            given[name] = part
        results = self._recorder.call(called.graph, given)

        def action(memory: Memory) -> None:
            for name, words in called.outputs.items():
                _write(memory, results[name].range, words)

        self._bodies[-1].append(action)
        self._ready += [*given.values(), *results.values()]

    # ── ranges ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _pick(self) -> RecordedRange:
        part = self._random.choice(self._ready)
        if len(part) > 8 and self._random.random() < 0.3:
            start = self._random.randrange(len(part) // 2)
            return part[start : start + self._random.choice((1, 7, len(part) // 2))]
        return part

    def _same_length(self, like: RecordedRange) -> list[RecordedRange]:
        whole = [part for part in self._ready if len(part) == len(like)]
        longer = [part for part in self._ready if len(part) > len(like)]
        return [*whole, *[part[len(part) - len(like) :] for part in longer], *[part[: len(like)] for part in longer]]

    def _overlaps(self, part: RecordedRange, given: Mapping[str, RecordedRange], but: str = "") -> bool:
        return any(part.range.overlaps(other.range) for name, other in given.items() if name != but)


def _read(memory: Memory, part: BufferRange) -> Words:
    return memory[part.buffer][part.start : part.stop].copy()


def _write(memory: Memory, part: BufferRange, words: Words | np.uint32) -> None:
    if part.buffer not in memory:  # a temporary; elements that nothing writes are never read
        memory[part.buffer] = np.zeros(max(LENGTHS), np.uint32)
    memory[part.buffer][part.start : part.stop] = words


def _writing(part: BufferRange, words: Words) -> Action:
    return lambda memory: _write(memory, part, words)
