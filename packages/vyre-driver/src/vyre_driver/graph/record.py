"""The recorder of graphs: every call appends a node, with the line of Python that made it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from operator import index
from types import TracebackType
from typing import Any, NoReturn, Self, SupportsIndex

import numpy as np

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent
from vyre_driver.backend.typed import array_bytes
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.grids import over_largest_grid
from vyre_driver.graph.nodes import (
    BufferKind,
    BufferRange,
    CallNode,
    CopyNode,
    DispatchNode,
    DownloadNode,
    FillNode,
    Graph,
    GraphBuffer,
    Node,
    RepeatNode,
    UploadNode,
)
from vyre_driver.graph.ranges import declaration, plan_dispatch
from vyre_driver.graph.recorded import RecordedRange
from vyre_driver.plan.axes import ShapedLaunch, given_shapes, missing_input, shaped_launch
from vyre_driver.plan.launch import require_x_alone, with_invocations
from vyre_driver.plan.programs import HasProgram, defaults_of, program_of
from vyre_foundation.build.arguments import DTypeLike, dtype_of
from vyre_foundation.build.caller import caller_outside, naming_errors, stated_line
from vyre_foundation.build.unopened import LineBlock, UnopenedBlocks, without_effect
from vyre_foundation.errors import BuildError, VyreError
from vyre_foundation.ir.expr import literal
from vyre_foundation.ir.origin import Line, Origin
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE

RECORDERS = frozenset({"vyre", "vyre_algorithms", "vyre_driver", "vyre_foundation"})
"""The packages that record nodes for a user."""


class RepeatBlock:
    """The ``with`` block of a loop: nodes recorded in it become the body of the loop."""

    def __init__(self, bodies: list[list[Node]], node: RepeatNode, unopened: UnopenedBlocks) -> None:
        self._bodies, self._node, self._unopened = bodies, node, unopened
        self.word = "g.repeat(…)"
        assert node.origin is not None
        self.line: Line = node.origin
        unopened.add(self)

    def __enter__(self) -> None:
        self._unopened.open(self)
        self._bodies.append([])

    def __iter__(self) -> NoReturn:
        """Refuse a loop of Python: the nodes are recorded once."""
        raise BuildError("a loop of a graph is no loop of Python", fix="write `with g.repeat(…):`")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        body = self._bodies.pop()
        if kind is None:
            self._bodies[-1].append(replace(self._node, body=tuple(body)))


class GraphRecorder:
    """Records a `Graph`. Used in a ``with`` block, it validates the graph at the end of the block, and ends there.

    Arguments of wrong types are refused by the call; `build` refuses what only the whole graph shows, all at once.
    """

    def __init__(self, name: str) -> None:
        self.name = _text(name, "the name of a graph")
        self._origin = Origin(*caller_outside(RECORDERS))
        self._stated: Origin | None = None
        """The line that `at` states."""
        self._has_ended = False
        self._buffers: dict[str, GraphBuffer] = {}
        self._bodies: list[list[Node]] = [[]]
        self._unopened = UnopenedBlocks()
        self._names: dict[str, int] = {}
        self._doubled: list[GraphBuffer] = []
        self._input_shapes: dict[str, tuple[int, ...]] = {}
        self._output_shapes: dict[str, tuple[int, ...]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self._buffers)} buffers, {len(self._bodies[0])} nodes>"

    def __enter__(self) -> Self:
        self._line()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._has_ended = True
        if kind is None:
            self.build()

    # ── buffers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def input(self, name: str, dtype: DTypeLike, shape: int | Sequence[int]) -> RecordedRange:
        """Declare an array that each launch passes by this name.

        Args:
            name: The keyword of `CompiledGraph.launch`.
            dtype: The type of its elements.
            shape: The lengths of its axes, or the number of its elements.

        Returns:
            The whole buffer as a range.
        """
        return self._passed(name, BufferKind.INPUT, dtype, shape)

    def temporary(self, dtype: DTypeLike, shape: int | Sequence[int], name: str | None = None) -> RecordedRange:
        """Declare memory of one launch. A node has to write to it before another reads it.

        Args:
            dtype: The type of its elements.
            shape: The lengths of its axes, or the number of its elements.
            name: What messages call it.

        Returns:
            The whole buffer as a range.
        """
        return self._declare(self._fresh(name or "temporary"), BufferKind.TEMPORARY, dtype, shape, self._line())

    def resident(self, name: str, dtype: DTypeLike, shape: int | Sequence[int]) -> RecordedRange:
        """Declare device memory of the caller, whose handle each launch passes by this name.

        Args:
            name: The keyword of `CompiledGraph.launch`.
            dtype: The type of its elements.
            shape: The lengths of its axes, or the number of its elements.

        Returns:
            The whole buffer as a range.
        """
        return self._passed(name, BufferKind.RESIDENT, dtype, shape)

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def dispatch(
        self,
        program: Program | HasProgram,
        ranges: Mapping[str, object] | None = None,
        /,
        *,
        config: DispatchConfig | None = None,
        invocations: int | Sequence[int] | None = None,
        largest_grid: Extent | None = None,
        name: str | None = None,
        **named: object,
    ) -> dict[str, RecordedRange]:
        """Record a dispatch of a program.

        Args:
            program: What `build()` of a program returned, or a kernel. If its buffers are declared with shapes, ranges
                have these shapes, and they give the grid, as for `vyre.run`.
            ranges: The ranges by buffer name, for names that keywords cannot have.
            config: The options of the dispatch.
            invocations: The least number of invocations on x, (x, y) or (x, y, z), as for `vyre.run`.
            largest_grid: For a program that reads its grid from a buffer, the workgroups on (x, y, z) at most. The
                device launches that many, of which those outside of the grid do nothing, and nothing waits for the
                host; a grid that is larger on an axis is a trap.
            name: What messages call the node; the name of the program by default.
            **named: The ranges by buffer name. An input may also be a NumPy array, or a number for a uniform of one
                element: it becomes a part of the graph. An output that is only written may be left out: it becomes a
                temporary of the length that the program's rules give.

        Returns:
            The range of each output by buffer name.

        Raises:
            BuildError: A range belongs to another graph, or an argument is of another kind.
            InvalidInput: An array does not fit the program's declaration.
        """
        origin = self._line()
        found = program_of(program)
        if found is None:
            raise _unexpected("the program", program, "what build() of a program returned, or a kernel")
        given: dict[str, object] = {**defaults_of(program), **({} if ranges is None else ranges), **named}
        program = found
        options = DEFAULT_CONFIG if config is None else config
        if not isinstance(options, DispatchConfig):
            raise _unexpected("config", config, "a DispatchConfig")
        if invocations is not None:
            options = with_invocations(program, invocations, options)
        if largest_grid is not None:
            options = options.replace(grid_override=largest_grid)
            program = over_largest_grid(program, largest_grid)
        where = self._fresh_node(name or program.name)
        shaped = ShapedLaunch(options, {}, (), {})
        if program.shapes is not None and LAUNCH_SHAPE not in given:
            shaped = shaped_launch(program, given_shapes(program.shapes, given), options, given)
        options = shaped.config
        if options.grid_override is None:
            require_x_alone(program, options)
        given |= shaped.constants
        for output, shape, _ in shaped.zeros:
            own, dtype = f"{where}.{output}", program.buffer(output).dtype
            made = self._declare(self._fresh(own), BufferKind.TEMPORARY, dtype, shape, origin)
            self._append(FillNode(self._fresh_node(own), bytes(dtype.size), made.range, origin))
            given[output] = made
        bound = {key: self._argument(program, key, value, where, origin) for key, value in given.items()}
        self._add_outputs(program, bound, options, where, origin)
        self._append(DispatchNode(where, program, tuple(bound.items()), options, origin))
        return {
            b.name: self._recorded(bound[b.name], shaped.results.get(b.name))
            for b in program.outputs
            if b.name in bound
        }

    def upload(self, target: RecordedRange, data: object, name: str | None = None) -> None:
        """Record that an array, which becomes a part of the graph, is written to a range.

        Args:
            target: The range.
            data: An array of the type of the range, with as many elements.
            name: What messages call the node.
        """
        origin, where = self._line(), self._fresh_node(name or "upload")
        part = self._range(target, where)
        contents = array_bytes(declaration(GraphBuffer(part.buffer, BufferKind.INPUT, target.dtype, part.count)), data)
        self._append(UploadNode(where, contents.tobytes(), part, origin))

    def copy(self, source: RecordedRange, target: RecordedRange, name: str | None = None) -> None:
        """Record a copy of the bits of one range to another of as many bytes.

        Args:
            source: Where it is read.
            target: Where it is written; it may not overlap the source.
            name: What messages call the node.
        """
        origin, where = self._line(), self._fresh_node(name or "copy")
        self._append(CopyNode(where, self._range(source, where), self._range(target, where), origin))

    def fill(self, target: RecordedRange, value: bool | int | float = 0, name: str | None = None) -> None:
        """Record that every element of a range is set to a number.

        Args:
            target: The range.
            value: A number of its type.
            name: What messages call the node.
        """
        origin, where = self._line(), self._fresh_node(name or "fill")
        part = self._range(target, where)
        try:
            element = literal(target.dtype, value).bits.to_bytes(target.dtype.size, "little")
        except VyreError as error:
            needed = f"a value of {target.dtype}"
            raise InvalidInput(part.buffer, needed=needed, got=repr(value), fix=error.fix) from None
        self._append(FillNode(where, element, part, origin))

    def output(self, name: str, source: RecordedRange) -> None:
        """Record that each launch returns what a range holds now, by this name.

        Args:
            name: The key in the result of a launch.
            source: The range.
        """
        origin = self._line()
        text = _text(name, "the name of an output")
        where = self._fresh_node(f"output {text}")
        self._append(DownloadNode(where, text, self._range(source, where), origin))
        if source.ndim != 1:
            self._output_shapes[text] = source.shape

    def repeat(self, limit: int, *, until_zero: RecordedRange | None = None, name: str | None = None) -> RepeatBlock:
        """Record a loop over the nodes of a ``with`` block, which run at least once.

        Args:
            limit: The most iterations; without `until_zero` the number of iterations.
            until_zero: A range of one integer or bool. The loop ends after an iteration that leaves 0 there.
            name: What messages call the node.

        Returns:
            The block, for a `with` statement. `build` refuses one that no `with` statement has opened.
        """
        origin, where = self._line(), self._fresh_node(name or "repeat")
        given: object = limit
        if not isinstance(given, SupportsIndex) or isinstance(given, bool):
            raise _unexpected("limit", limit, "an integer of at least 1")
        flag = None if until_zero is None else self._range(until_zero, where)
        return RepeatBlock(self._bodies, RepeatNode(where, index(limit), flag, (), origin), self._unopened)

    def call(
        self,
        graph: Graph,
        ranges: Mapping[str, RecordedRange] | None = None,
        /,
        *,
        name: str | None = None,
        **named: Any,
    ) -> dict[str, RecordedRange]:
        """Record the execution of another graph.

        Args:
            graph: What `build()` of a graph returned.
            ranges: The ranges by name, for names that keywords cannot have.
            name: What messages call the node; the name of the graph by default.
            **named: A range for each input and each resident buffer of the graph, and optionally for each output that
                does not have the name of one of these.

        Returns:
            The range of each output by name: the one that was passed, or a new temporary.
        """
        origin = self._line()
        if not isinstance(graph, Graph):
            raise _unexpected("the graph", graph, "what build() of a graph returned")
        where = self._fresh_node(name or graph.name)
        given = {
            key: self._range(value, where) for key, value in {**({} if ranges is None else ranges), **named}.items()
        }
        bound = {buffer.name for buffer in graph.buffers if buffer.kind is not BufferKind.TEMPORARY}
        outputs = {
            node.output: None if node.output in bound else given.pop(node.output, None) for node in graph.outputs
        }
        for node in graph.outputs:
            if outputs[node.output] is None:
                dtype = graph.buffer(node.source.buffer).dtype
                made = self._declare(self._fresh(node.output), BufferKind.TEMPORARY, dtype, node.source.count, origin)
                outputs[node.output] = made.range
        results = {key: part for key, part in outputs.items() if part is not None}
        self._append(CallNode(where, graph, tuple(given.items()), tuple(results.items()), origin))
        return {key: self._recorded(part, graph.output_shapes.get(key)) for key, part in results.items()}

    def build(self) -> Graph:
        """Return the graph that was recorded so far.

        Raises:
            InvalidGraph: With all findings, each with the line that recorded the node.
            BuildError: A loop is open, or no `with` statement opens a block.
        """
        if len(self._bodies) != 1:
            raise BuildError("a loop is still open", fix="leave every `with g.repeat(…)` block first", where=repr(self))
        if unopened := self._unopened.findings():
            raise without_effect(unopened)
        buffers = (*self._buffers.values(), *self._doubled)
        shapes = dict(self._input_shapes), dict(self._output_shapes)
        graph = Graph(self.name, buffers, tuple(self._bodies[0]), self._origin, *shapes)
        graph.validate()
        return graph

    def at(self, file: str, line: int) -> AbstractContextManager[None]:
        """Attribute what is recorded in a ``with`` block to a line of another source, as `ProgramBuilder.at`.

        Args:
            file: The file, or another name of the source.
            line: The number of the line, from 1 on.

        Returns:
            The block, for a `with` statement. `build` refuses one that no `with` statement has opened.

        Raises:
            BuildError: An argument is of another kind.
        """
        stated = self._stating(stated_line(file, line))
        return LineBlock(self._unopened, "g.at(…)", caller_outside(RECORDERS), stated)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _stating(self, line: Line) -> Iterator[None]:
        before, self._stated = self._stated, Origin(*line)
        try:
            with naming_errors(line):
                yield
        finally:
            self._stated = before

    def _line(self) -> Origin:
        """The line of the user that records a node, also where vyre records one for it; refused after the block."""
        if self._has_ended:
            message, fix = (
                "it records no more: its `with` block has ended",
                "record within the block, or begin another graph",
            )
            raise BuildError(message, fix=fix, where=f"graph {self.name!r}")
        return self._stated or Origin(*caller_outside(RECORDERS))

    def _passed(self, name: str, kind: BufferKind, dtype: DTypeLike, shape: int | Sequence[int]) -> RecordedRange:
        """A buffer that each launch passes."""
        made = self._declare(name, kind, dtype, shape, self._line())
        if made.ndim != 1:
            self._input_shapes[name] = made.shape
        return made

    def _declare(
        self, name: str, kind: BufferKind, dtype: DTypeLike, shape: int | Sequence[int], origin: Origin
    ) -> RecordedRange:
        _text(name, "the name of a buffer")
        try:
            known = dtype_of(dtype)
        except BuildError as error:
            structure, fix = getattr(dtype, "dtype", dtype), error.fix
            if isinstance(structure, np.dtype) and structure.names is not None:
                fix = "declare its units: .units of such a device array has their type, and their number as a last axis"
            raise BuildError(f"the type of buffer {name!r}: {error.message}", fix=fix) from None
        lengths: tuple[object, ...] = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        axes = []
        for length in lengths:
            if not isinstance(length, SupportsIndex) or isinstance(length, bool) or index(length) < 0:
                raise _unexpected(f"the shape of buffer {name!r}", length, "an integer of at least 0")
            axes.append(index(length))
        made = GraphBuffer(name, kind, known, math.prod(axes), origin)
        if name in self._buffers:
            self._doubled.append(made)
        else:
            self._buffers[name] = made
        return RecordedRange(self, known, BufferRange(name, 0, made.count), tuple(axes))

    def _argument(self, program: Program, name: str, value: object, where: str, origin: Origin) -> BufferRange:
        """A range, or a part of the graph that holds an array."""
        if isinstance(value, RecordedRange):
            return value.of(self, where)
        declared = next((b for b in program.inputs if b.name == name and not b.is_output), None)
        if declared is None:
            raise _unexpected(f"{where}, buffer {name!r}", value, "a range of this graph")
        contents = array_bytes(declared, value)
        count, own = contents.size // declared.dtype.size, self._fresh(f"{where}.{name}")
        made = self._declare(own, BufferKind.TEMPORARY, declared.dtype, count, origin)
        self._append(UploadNode(self._fresh_node(f"{where}.{name}"), contents.tobytes(), made.range, origin))
        return made.range

    def _add_outputs(
        self, program: Program, bound: dict[str, BufferRange], config: DispatchConfig, where: str, origin: Origin
    ) -> None:
        """Declare a temporary for each output that is left out and only written."""
        missing = [b for b in program.outputs if b.name not in bound and not b.is_input]
        if not missing:
            return
        for b in program.inputs:
            if b.name not in bound:
                raise missing_input(program, b.name, f"a range of {b.dtype}", bound)
        plan = plan_dispatch(program, bound, config)
        for buffer in missing:
            name = self._fresh(f"{where}.{buffer.name}")
            made = self._declare(name, BufferKind.TEMPORARY, buffer.dtype, plan.lengths[buffer.name], origin)
            bound[buffer.name] = made.range

    def _range(self, given: object, where: str) -> BufferRange:
        if not isinstance(given, RecordedRange):
            raise _unexpected(where, given, "a range of this graph")
        return given.of(self, where)

    def _recorded(self, part: BufferRange, shape: tuple[int, ...] | None = None) -> RecordedRange:
        return RecordedRange(self, self._buffers[part.buffer].dtype, part, shape)

    def _append(self, node: Node) -> None:
        self._bodies[-1].append(node)

    def _fresh(self, stem: str) -> str:
        """A name that no buffer has."""
        name, number = stem, 1
        while name in self._buffers:
            number += 1
            name = f"{stem}#{number}"
        return name

    def _fresh_node(self, stem: str) -> str:
        """A name that no node has."""
        number = self._names[stem] = self._names.get(stem, 0) + 1
        return stem if number == 1 else f"{stem}#{number}"


def _text(given: object, what: str) -> str:
    if not isinstance(given, str) or not given:
        raise _unexpected(what, given, "a string of at least one character")
    return given


def _unexpected(where: str, got: object, needed: str) -> BuildError:
    return BuildError(f"got {got!r}, expected {needed}", fix=f"pass {needed}", where=where)
