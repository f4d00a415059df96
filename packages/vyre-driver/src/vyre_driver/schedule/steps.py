"""A flat graph over memory: calls of resident sequences, and the loops that the host decides.

A call is what the contract runs with one wait: steps that run once, then steps that are repeated. Steps are frozen and
kept, so a backend that prepares sequences finds them again at the next launch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.resources import ResidentDispatchStep, Resource
from vyre_driver.graph.guard import guarded
from vyre_driver.graph.nodes import (
    BufferKind,
    BufferRange,
    CopyNode,
    DispatchNode,
    FillNode,
    Graph,
    Node,
    RepeatNode,
    walk,
)
from vyre_driver.graph.ranges import accesses, plan_dispatch
from vyre_driver.plan import moves
from vyre_driver.plan.binding import host_buffers
from vyre_driver.plan.coverage import written_everywhere
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_driver.policy.loop import LoopVerdict, choose_batches
from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True)
class NodeStep:
    """A step, and the node that it came from."""

    step: ResidentDispatchStep
    node: Node


@dataclass(frozen=True, slots=True)
class SequenceCall:
    """`once`, then `repeated` that many `times`: one call of the backend."""

    once: tuple[NodeStep, ...]
    repeated: tuple[NodeStep, ...] = ()
    times: int = 0

    def failed(self, step: int) -> Node:
        """The node of a step, by its position among the steps that are run."""
        if step < len(self.once):
            return self.once[step].node
        return self.repeated[(step - len(self.once)) % len(self.repeated)].node


@dataclass(frozen=True, slots=True)
class DispatchCall:
    """A dispatch with options that a sequence has no room for: a call of its own."""

    node: DispatchNode
    resources: tuple[Resource, ...]


@dataclass(frozen=True, slots=True)
class HostLoop:
    """A loop that the host looks after: it reads the flag, where there is one, after each iteration."""

    node: RepeatNode
    flag: tuple[Resource, int, int] | None
    """The resource, and the byte range of the flag."""
    body: tuple[ExecutableCall, ...]


@dataclass(frozen=True, slots=True)
class BatchedLoop:
    """A loop whose iterations are enqueued in batches before the two words `go` are read.

    The steps of an iteration do nothing once the first of these is 0; the last step makes it so, and counts the
    iterations in the second. `once` comes before the first iteration.
    """

    node: RepeatNode
    once: tuple[NodeStep, ...]
    iteration: tuple[NodeStep, ...]
    go: Resource


ExecutableCall: TypeAlias = SequenceCall | DispatchCall | HostLoop | BatchedLoop

WordsOf = Callable[[bytes], Resource]
"""Finds or makes the resident memory with these contents."""


class StepBuilder:
    """Makes the calls of one graph over the resources of its buffers."""

    def __init__(
        self,
        graph: Graph,
        resources: Mapping[str, Resource],
        words_of: WordsOf,
        go: Callable[[], Resource],
        lasting: Iterable[str] = (),
    ) -> None:
        self._graph, self._resources, self._words_of, self._go = graph, resources, words_of, go
        self._uses = Counter(name for node in walk(graph.nodes) for name in self._own_buffers(node))
        self._uses.update(lasting)
        self.verdicts: dict[str, LoopVerdict] = {}
        """What was decided for each loop with a flag, by the name of its node."""

    def calls(self, nodes: Sequence[Node]) -> tuple[ExecutableCall, ...]:
        """The calls of one body, as few as possible."""
        found: list[ExecutableCall] = []
        once: list[NodeStep] = []

        def flush() -> None:
            if once:
                found.append(SequenceCall(tuple(once)))
                once.clear()

        for node in nodes:
            match node:
                case RepeatNode():
                    inner = self.calls(node.body)
                    match inner:
                        case (SequenceCall(steps, (), 0),) if node.until_zero is None:
                            found.append(SequenceCall(tuple(once), steps, node.limit))
                            once.clear()
                        case () if node.until_zero is None:
                            pass
                        case (SequenceCall(steps, (), 0),) if self._is_batched(node, steps):
                            found.append(self._batched(node, once, steps))
                            once.clear()
                        case _:
                            flush()
                            found.append(HostLoop(node, self._flag(node.until_zero), inner))
                case DispatchNode() if has_options(node):
                    flush()
                    found.append(DispatchCall(node, self._bound(node)))
                case DispatchNode():
                    step = ResidentDispatchStep(
                        program=node.program, resources=self._bound(node), grid_override=node.config.grid_override
                    )
                    once.append(NodeStep(step, node))
                case CopyNode(source=source, target=target) if source.count:
                    once.append(NodeStep(self._copy(source, target), node))
                case FillNode(element=element, target=target) if target.count:
                    once.append(NodeStep(self._fill(element, target), node))
                case _:  # moves of no elements
                    pass
        flush()
        return tuple(found)

    # ── loops in batches ─────────────────────────────────────────────────────────────────────────────────────────────

    def _is_batched(self, node: RepeatNode, steps: Sequence[NodeStep]) -> bool:
        is_guarded = all(guarded(step.step.program) is not None for step in steps)
        groups = sum(prod(self._plan(step).grid) for step in steps) if is_guarded else None
        verdict = self.verdicts[node.name] = choose_batches(groups)
        return verdict.is_batched

    def _batched(self, node: RepeatNode, once: Sequence[NodeStep], steps: Sequence[NodeStep]) -> BatchedLoop:
        """The loop whose body is these steps."""
        go, flag, reset = self._go(), node.until_zero, self._reset(node)
        assert flag is not None
        size, at, taken = self._size(flag), self._words(flag.start), self._resources[flag.buffer]
        if reset is None:
            start = self._step(moves.start_loop(), (go,), 1)
            look = self._step(moves.clear_unless(size), (taken, at, go), 1)
        else:
            start = self._step(moves.begin_loop(size), (at, taken, go), 1)
            look = self._step(moves.take_flag(size), (at, taken, go), 1)
        iteration: list[NodeStep] = []
        for step in steps:
            if step.node is reset:
                continue
            if isinstance(step.node, DispatchNode):
                zeros = [NodeStep(zero, step.node) for zero in self._zeros(step)]
                iteration += [_guarded_step(zero, go) for zero in zeros]
            iteration.append(_guarded_step(step, go))
        iteration.append(NodeStep(look, node))
        return BatchedLoop(node, (*once, NodeStep(start, node)), tuple(iteration), go)

    def _reset(self, loop: RepeatNode) -> Node | None:
        """The node of the body that sets the flag to 0, where the loop may do so at the end of an iteration instead.

        No node before it uses the flag, and none outside of the loop.
        """
        flag = loop.until_zero
        assert flag is not None
        users = [node for node in walk(loop.body) if flag.buffer in self._own_buffers(node)]
        first = users[0] if users else None
        is_reset = isinstance(first, FillNode) and first.target == flag and not any(first.element)
        is_private = self._graph.buffer(flag.buffer).kind is BufferKind.TEMPORARY
        return first if is_reset and is_private and self._uses[flag.buffer] == len(users) + 1 else None

    def _own_buffers(self, node: Node) -> set[str]:
        """The buffers that a node uses itself; of a loop that of its flag."""
        if isinstance(node, RepeatNode):
            return set() if node.until_zero is None else {node.until_zero.buffer}
        own = accesses(self._graph, node)
        return {part.buffer for part in (*own.reads, *own.writes)}

    def _zeros(self, step: NodeStep) -> Iterator[ResidentDispatchStep]:
        """Steps that make outputs begin as zeros where the guarded program would not."""
        assert isinstance(step.node, DispatchNode)
        everywhere = written_everywhere(self._plan(step))
        for buffer in step.node.program.outputs:
            if buffer.access is Access.WRITE and buffer.name not in everywhere:
                yield self._fill(bytes(buffer.dtype.size), dict(step.node.ranges)[buffer.name])

    def _plan(self, step: NodeStep) -> LaunchPlan:
        program, resources = step.step.program, step.step.resources
        config = DispatchConfig(grid_override=step.step.grid_override)
        if isinstance(step.node, DispatchNode):
            return plan_dispatch(program, dict(step.node.ranges), config)
        sizes = {b.name: r.byte_len for b, r in zip(host_buffers(program), resources, strict=True)}
        return plan_launch(program, [sizes[buffer.name] for buffer in program.inputs], config)

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _bound(self, node: DispatchNode) -> tuple[Resource, ...]:
        ranges = dict(node.ranges)
        return tuple([self._resources[ranges[buffer.name].buffer] for buffer in host_buffers(node.program)])

    def _copy(self, source: BufferRange, target: BufferRange) -> ResidentDispatchStep:
        sizes = [self._graph.buffer(part.buffer).dtype.size for part in (source, target)]
        size = min(sizes)
        first, second = (part.start * own // size for part, own in zip((source, target), sizes, strict=True))
        count = self._graph.byte_len(source) // size
        given, made = self._resources[source.buffer], self._resources[target.buffer]
        if self._graph.is_whole(source) and self._graph.is_whole(target):
            return self._step(moves.copy_all(size), (given, made), count)
        at = self._words(first, second, count)
        if source.buffer == target.buffer:
            return self._step(moves.copy_within(size), (at, made), count)
        return self._step(moves.copy_range(size), (given, at, made), count)

    def _fill(self, element: bytes, target: BufferRange) -> ResidentDispatchStep:
        at = self._words(target.start, target.count)
        resources = (self._words_of(element), at, self._resources[target.buffer])
        return self._step(moves.fill_range(len(element)), resources, target.count)

    def _step(self, program: Program, resources: tuple[Resource, ...], count: int) -> ResidentDispatchStep:
        return ResidentDispatchStep(program=program, resources=resources, grid_override=moves.grid_of(count))

    def _words(self, *values: int) -> Resource:
        return self._words_of(b"".join(value.to_bytes(4, "little") for value in values))

    def _size(self, part: BufferRange) -> int:
        return self._graph.buffer(part.buffer).dtype.size

    def _flag(self, part: BufferRange | None) -> tuple[Resource, int, int] | None:
        if part is None:
            return None
        size = self._size(part)
        return self._resources[part.buffer], part.start * size, size


def programs_of(calls: Sequence[ExecutableCall]) -> list[Program]:
    """The programs that calls launch without options of their own, each once."""
    found: dict[Program, None] = {}
    for call in calls:
        match call:
            case SequenceCall(once, repeated) | BatchedLoop(_, once, repeated):
                found.update(dict.fromkeys(entry.step.program for entry in (*once, *repeated)))
            case HostLoop(body=body):
                found.update(dict.fromkeys(programs_of(body)))
            case DispatchCall():
                pass
    return list(found)


def _guarded_step(step: NodeStep, go: Resource) -> NodeStep:
    program = guarded(step.step.program)
    assert program is not None
    changed = replace(step.step, program=program, resources=(*step.step.resources, go))
    return NodeStep(changed, step.node)


def has_options(node: DispatchNode) -> bool:
    """Whether a dispatch asks for more than a grid and a name, which steps of a sequence have no room for."""
    return node.config.replace(grid_override=None, label=None) != DEFAULT_CONFIG
