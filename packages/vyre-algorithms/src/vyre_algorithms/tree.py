"""The fixed tree: the order in which elements are combined, for any associative operation or one that rounds.

A sequence is cut into blocks of 4096 elements, the last of which may be shorter. Lane ``l`` of the 64 lanes of a block
combines the elements ``l``, ``l + 64``, ``l + 128``, … in this order. Then the lanes are combined by halves: lane ``l``
with lane ``l + 32`` for all ``l < 32``, with lane ``l + 16`` for all ``l < 16``, and so on to lane 0, which has the
result of the block. A lane without elements has the identity, which changes no bit. The results of the blocks are a
sequence that is combined in the same way, until one is left.

So the order depends on the length of the sequence alone. A workgroup of 16 invocations combines a block, each of them
four lanes: rows of a block are read one after another, and additions do not wait for each other. Bools have a
workgroup of 64, a lane each: a vector has that many. Of sequences that lie side by side, an invocation combines a
block, and of short ones a sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from vyre_algorithms.arguments import Array, Backend, HostArray
from vyre_algorithms.launches import launch, slots_beside, words
from vyre_foundation import (
    Array as Buffer,
    DType,
    LengthOf,
    Mutable,
    Program,
    ProgramBuilder,
    Value,
    constant,
    program,
    select,
    u32,
)
from vyre_foundation.build import Operand
from vyre_foundation.cached import cached_property
from vyre_foundation.dtype import bool_
from vyre_foundation.functions import min as least, sqrt

LANES, STEPS = 64, 64
BLOCK = LANES * STEPS
WIDTH = 16
"""Invocations of a workgroup, except for bools."""
COLUMNS = 64
"""Sequences of a workgroup, where they lie side by side or are short."""
SIDE_BY_SIDE = 16
"""Sequences that must lie side by side to be read where they are; fewer are moved to be rows."""
FEW = 1 << 14
"""Elements of an array up to which that takes longer than to read fewer sequences side by side."""
SHORT = 32
"""Elements of a sequence, at most, that one invocation holds in variables."""
IN_VARIABLES = 8
"""The same where sequences have different lengths. Of longer ones, it has the lanes in arrays."""

State: TypeAlias = tuple[Value, ...]


class SequenceLayout(Enum):
    """How the sequences that blocks are parts of lie in the arrays."""

    ONE = "one sequence, which is all of an array"
    ROWS = "sequences of one length behind each other"
    SEGMENTS = "any others: each block says where it begins and ends"

    __hash__ = object.__hash__  # members are single objects, and every call looks its program up by one


@dataclass(frozen=True, eq=False)
class Reduction:
    """What is combined: states of one or more values, made from the elements of one or more arrays.

    `leaf` makes a state from the elements at an index, and the index. `combine` keeps the first operand's bits where
    the second is the `identity`, and the other way around.
    """

    name: str
    inputs: tuple[DType, ...]
    state: tuple[DType, ...]
    identity: State
    leaf: Callable[[Sequence[Value], Value], State]
    combine: Callable[[State, State], State]
    centre: DType | None = None
    """The type of one more array, with a value for each sequence, which `leaf` gets behind the elements."""
    append: Callable[[State, State], State] | None = None
    """What gives the same as `combine` in less time where the elements of the second are behind those of the first."""
    added: Reduction | None = None
    """What the program of a sequence of one block combines first: `leaf` gets the mean of it behind the elements."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays in programs."""
        return (*(f"x{n}" for n in range(len(self.inputs))), *(["centre"] * (self.centre is not None)))

    @cached_property
    def width(self) -> int:
        """The invocations of a workgroup."""
        return LANES if self.state == (bool_,) else WIDTH

    @cached_property
    def of_states(self) -> Reduction:
        """The same over arrays of states."""
        return replace(self, inputs=self.state, leaf=lambda values, _: tuple(values), centre=None, added=None)

    def sources(self, p: ProgramBuilder) -> tuple[list[Buffer], Buffer | None]:
        """Declare the arrays of elements, and the one with a value for each sequence, if there is one."""
        arrays = [p.read(name, dtype) for name, dtype in zip(self.names, self.inputs, strict=False)]
        return arrays, None if self.centre is None else p.read("centre", self.centre)


class Quotient(NamedTuple):
    """What programs make of states: their quotients by ``number`` in a type, or the square roots of those."""

    dtype: DType
    is_root: bool = False


class Mean(NamedTuple):
    """What the launch that combines the last states makes of them, and the number, which has the type of the states."""

    quotient: Quotient
    number: HostArray


def reduce_sequence(
    reduction: Reduction, arrays: Sequence[Array], backend: Backend, mean: Mean | None = None
) -> list[Array]:
    """The state of one sequence, which is not empty, as arrays of one element; with `mean` what that makes of it."""
    found = list(arrays)
    while True:
        found = reduce_blocks(reduction, found, backend, mean)
        if found[0].size == 1:
            return found
        reduction = reduction.of_states


def reduce_blocks(
    reduction: Reduction, arrays: Sequence[Array], backend: Backend, mean: Mean | None = None
) -> list[Array]:
    """The states of the blocks of a sequence, which is not empty: an array for each value of the state.

    The states of two sequences behind each other are those of the whole, if the first is whole blocks. Of one block,
    with `mean`, what that makes of its state.
    """
    given = dict(zip(reduction.names, arrays, strict=False))
    blocks, quotient = -(-arrays[0].size // BLOCK), None
    if mean is not None and blocks == 1:
        quotient, given["number"] = mean
    return list(launch(block_program(reduction, quotient=quotient), given, blocks, backend).values())


def reduce_axis(
    reduction: Reduction,
    arrays: Sequence[Array],
    outer: int,
    length: int,
    inner: int,
    backend: Backend,
    mean: Mean | None = None,
) -> list[Array]:
    """The states of the sequences along an axis, which are not empty: an array for each value of the state.

    Element ``j`` of the sequence ``(o, c)`` is at ``(o * length + j) * inner + c``. With `mean`, what that makes of
    the states.
    """
    found = list(arrays)
    while True:
        blocks = -(-length // BLOCK)
        given = dict(zip(reduction.names, found, strict=True))
        given |= {
            "shape": words(length, inner),
            "slots": slots_beside(found[0], outer * blocks * inner),
        }
        quotient = None
        if mean is not None and blocks == 1:
            quotient, given["number"] = mean
        grid = -(-inner // COLUMNS) * blocks * outer
        if length <= SHORT:
            made = short_program(reduction, length, inner == 1, quotient)
            grid = groups_of(outer, inner)
        elif inner == 1:
            made = block_program(reduction, SequenceLayout.ROWS, quotient)
        else:
            made = column_program(reduction, quotient)
        found = list(launch(made, given, grid, backend).values())
        if blocks == 1:
            return found
        length, reduction = blocks, reduction.of_states


class OwnSequence:
    """The sequence of an invocation: its number, whether it exists, and where its elements are.

    Sequences of `length` elements are rows behind each other, or ``shape[1]`` of them lie side by side. `size` is the
    number of all elements. `groups_of` is the number of workgroups.
    """

    def __init__(self, p: ProgramBuilder, shape: Buffer, length: Value | int, size: Value, *, are_rows: bool) -> None:
        if are_rows:
            self.number = p.global_id(0)
            self._first, self._step = p.let(self.number * length), None
            self.exists = self._first < size
        else:
            inner = p.let(shape[1])
            row, column = column_of(p, inner)
            self.number, self.exists = p.let(row * inner + column), column < inner
            self._first, self._step = p.let(row * length * inner + column), inner

    def at(self, index: Operand) -> Value:
        """Where its element with an index is."""
        return self._first + (index if self._step is None else index * self._step)


def groups_of(outer: int, inner: int) -> int:
    """The number of workgroups of which each invocation has a sequence."""
    return -(-outer // COLUMNS) if inner == 1 else -(-inner // COLUMNS) * outer


def column_of(p: ProgramBuilder, inner: Value) -> tuple[Value, Value]:
    """The row and the column of an invocation, where rows are `inner` sequences that lie side by side."""
    tiles = p.let((inner + (COLUMNS - 1)) // COLUMNS)
    return p.let(p.workgroup_id(0) // tiles), p.let(p.workgroup_id(0) % tiles * COLUMNS + p.local_id(0))


@lru_cache(maxsize=1024)
def short_program(reduction: Reduction, length: int, are_rows: bool, quotient: Quotient | None = None) -> Program:
    """The states of sequences of `length` elements. An invocation combines one sequence, whose elements are its lanes.

    A `quotient` is what is written in place of the states.
    """
    with program(f"reduce_short_{reduction.name}", COLUMNS) as p:
        sources, _ = reduction.sources(p)
        shape = p.uniform("shape", u32, 2)
        p.read("slots", bool_)
        results = _Results(p, reduction, LengthOf("slots"), quotient)
        own = OwnSequence(p, shape, length, sources[0].length, are_rows=are_rows)
        with p.if_(own.exists):
            places = [p.let(own.at(lane)) for lane in range(length)]

            def combined(part: Reduction, *middle: Value) -> State:
                states = [
                    tuple(map(p.let, part.leaf([*(source[at] for source in sources), *middle], constant(u32, lane))))
                    for lane, at in enumerate(places)
                ]
                return halved(p, part, states)

            middle = [] if reduction.added is None else [p.let(value / length) for value in combined(reduction.added)]
            results.store(own.number, combined(reduction, *middle))
    return p.build()


@lru_cache(maxsize=1024)
def column_program(reduction: Reduction, quotient: Quotient | None = None) -> Program:
    """The states of blocks of sequences that lie side by side: an invocation combines all lanes of a block.

    It reads row after row, so its lanes are arrays. A `quotient` is what is written in place of the states.
    """
    with program(f"reduce_columns_{reduction.name}", COLUMNS) as p:
        sources, centre = reduction.sources(p)
        shape = p.uniform("shape", u32, 2)
        p.read("slots", bool_)
        results = _Results(p, reduction, LengthOf("slots"), quotient)
        length, inner = p.let(shape[0]), p.let(shape[1])
        blocks = p.let((length + (BLOCK - 1)) // BLOCK)
        row, column = column_of(p, inner)
        first = p.let(row % blocks * BLOCK)
        begin = p.let((row // blocks * length + first) * inner + column)
        count = p.let(least(least(length - first, BLOCK), sources[0].length))

        def combined(part: Reduction, *middle: Value, name: str = "lanes") -> State:
            def leaf(index: Value) -> State:
                return part.leaf([*(source[begin + index * inner] for source in sources), *middle], first + index)

            return _combined_in_arrays(p, part, count, leaf, name)

        with p.if_(column < inner):
            middle = [] if centre is None else [p.let(centre[row // blocks * inner + column])]
            if reduction.added is not None:
                total = combined(reduction.added, name="added")
                middle = [p.let(value / count.cast(value.dtype)) for value in total]
            results.store(row * inner + column, combined(reduction, *middle))
    return p.build()


@lru_cache(maxsize=1024)
def segment_program(reduction: Reduction) -> Program:
    """The states of segments of a block at most. An invocation combines one, those of `IN_VARIABLES` without a loop."""
    with program(f"reduce_segments_{reduction.name}", COLUMNS) as p:
        sources, _ = reduction.sources(p)
        firsts, lasts = p.read("first", u32), p.read("last", u32)
        results = _Results(p, reduction, LengthOf("first"), None)
        first = p.let(firsts[p.global_id(0)])
        count = p.let(least(lasts[p.global_id(0)] - first, BLOCK))

        def leaf(index: Value | int) -> State:
            return reduction.leaf([source[first + index] for source in sources], first + index)

        states = [
            tuple(p.let(select(lane < count, a, b)) for a, b in zip(leaf(lane), reduction.identity, strict=True))
            for lane in range(IN_VARIABLES)
        ]
        results.store(p.global_id(0), halved(p, reduction, states))
        with p.if_(count > IN_VARIABLES):
            results.store(p.global_id(0), _combined_in_arrays(p, reduction, count, leaf))
    return p.build()


def _combined_in_arrays(
    p: ProgramBuilder, reduction: Reduction, count: Value, leaf: Callable[[Value], State], name: str = "lanes"
) -> State:
    """The state of the first `count` elements of a block, whose lanes are arrays of the invocation."""
    lanes = [p.private(f"{name}{n}", dtype, LANES) for n, dtype in enumerate(reduction.state)]

    def combine(at: Value, state: State) -> None:
        there = tuple(p.let(memory[at]) for memory in lanes)
        for memory, value in zip(lanes, reduction.combine(there, state), strict=True):
            memory[at] = value

    with p.range(0, LANES) as lane:
        for memory, value in zip(lanes, reduction.identity, strict=True):
            memory[lane] = value
    with p.range(0, count) as index:
        combine(p.let(index & (LANES - 1)), leaf(index))
    for half in (32, 16, 8, 4, 2, 1):
        with p.range(0, half) as lane:
            combine(lane, tuple(memory[lane + half] for memory in lanes))
    return tuple(memory[0] for memory in lanes)


@lru_cache(maxsize=1024)
def block_program(
    reduction: Reduction, sequences: SequenceLayout = SequenceLayout.ONE, quotient: Quotient | None = None
) -> Program:
    """The states ``s0``, ``s1``, … of the blocks of arrays ``x0``, ``x1``, … of elements.

    A `quotient` is what is written in place of the states.
    """
    with program(f"reduce_{reduction.name}", reduction.width) as p:
        sources, centre = reduction.sources(p)
        block = p.workgroup_id(0)
        begin: Value | None = None
        middle: list[Value] = []
        match sequences:
            case SequenceLayout.SEGMENTS:
                firsts, lasts = p.read("first", u32), p.read("last", u32)
                count = LengthOf("first")
                first, last = p.let(firsts[block]), p.let(lasts[block])
            case SequenceLayout.ROWS:
                shape = p.uniform("shape", u32, 2)
                p.read("slots", bool_)
                count, length = LengthOf("slots"), p.let(shape[0])
                blocks = p.let((length + (BLOCK - 1)) // BLOCK)
                begin = p.let(block // blocks * length)
                if centre is not None:
                    middle = [p.let(centre[block // blocks])]
                first, last = p.let(begin + block % blocks * BLOCK), p.let(begin + length)
            case SequenceLayout.ONE:
                count = LengthOf("x0", over=BLOCK)
                first, last = p.let(block * BLOCK), sources[0].length
                if centre is not None:
                    middle = [p.let(centre[0])]
        results = _Results(p, reduction, count, quotient)

        def combined(part: Reduction, *middle: Value, name: str = "lanes") -> list[Buffer]:
            def leaf(index: Value) -> State:
                elements = [*(source[index] for source in sources), *middle]
                return part.leaf(elements, index if begin is None else index - begin)

            return _combined_in_lanes(p, part, first, last, leaf, name)

        if reduction.added is not None:
            total = combined(reduction.added, name="added")
            p.barrier()
            middle = [p.let(memory[0] / (last - first).cast(memory.dtype)) for memory in total]
        memories = combined(reduction, *middle)
        with p.if_(p.local_id(0) == 0):
            results.store(block, [memory[0] for memory in memories])
    return p.build()


def _combined_in_lanes(
    p: ProgramBuilder, reduction: Reduction, first: Value, last: Value, leaf: Callable[[Value], State], name: str
) -> list[Buffer]:
    """The state of the block of a workgroup, which `by_halves` leaves in memory of a name."""
    append = reduction.append or reduction.combine
    lanes = [
        (p.local_id(0) + n, [p.var(value) for value in reduction.identity]) for n in range(0, LANES, reduction.width)
    ]
    with p.if_(last - first >= BLOCK):
        for lane, own in lanes:
            assign(p, own, leaf(first + lane))
        with p.range(1, STEPS) as step:
            for lane, own in lanes:
                assign(p, own, append(values_of(own), leaf(first + step * LANES + lane)))
    with p.else_(), p.range(first, least(first + BLOCK, last), LANES) as row:
        for lane, own in lanes:
            index = p.let(row + lane)
            combined = reduction.combine(values_of(own), leaf(index))
            assign(p, own, tuple(select(index < last, a, b) for a, b in zip(combined, values_of(own), strict=True)))
    return by_halves(p, reduction, [values_of(own) for _, own in lanes], name)


class _Results:
    """Where a program writes the states of blocks, or their quotients."""

    def __init__(self, p: ProgramBuilder, reduction: Reduction, count: LengthOf, quotient: Quotient | None) -> None:
        self._divisor = None if quotient is None else p.uniform("number", reduction.state[0], 1)
        self._is_root = quotient is not None and quotient.is_root
        types = reduction.state if quotient is None else (quotient.dtype,)
        self._outputs = [p.write(f"s{n}", dtype, count) for n, dtype in enumerate(types)]

    def store(self, index: Value, state: Sequence[Value]) -> None:
        """Write those of one block."""
        for output, value in zip(self._outputs, state, strict=True):
            result = value if self._divisor is None else value / self._divisor[0]
            result = sqrt(result) if self._is_root else result
            output[index] = result if result.dtype is output.dtype else result.cast(output.dtype)


def by_halves(p: ProgramBuilder, reduction: Reduction, own: Sequence[State], name: str = "lanes") -> list[Buffer]:
    """The states of all lanes, combined by halves in memory of a name; the result is in the elements 0.

    An invocation has those of some lanes that are as far apart as there are invocations. Invocation 0 may load the
    result at once, the others after a barrier.
    """
    lane = p.local_id(0)
    shared = [p.workgroup(f"{name}{n}", dtype, reduction.width) for n, dtype in enumerate(reduction.state)]
    for memory, value in zip(shared, halved(p, reduction, own), strict=True):
        memory[lane] = value
    half = reduction.width // 2
    while half:
        p.barrier()
        with p.if_(lane < half):
            pairs = [tuple(memory[lane + offset] for memory in shared) for offset in (0, half)]
            for memory, value in zip(shared, reduction.combine(*pairs), strict=True):
                memory[lane] = value
        half //= 2
    return shared


def halved(p: ProgramBuilder, reduction: Reduction, states: Sequence[State]) -> State:
    """The states of the first lanes, combined by halves."""
    while len(states) > 1:
        half = 1 << ((len(states) - 1).bit_length() - 1)
        states = [
            tuple(map(p.let, reduction.combine(state, states[half + lane]))) if half + lane < len(states) else state
            for lane, state in enumerate(states[:half])
        ]
    return states[0]


def values_of(variables: Sequence[Mutable]) -> State:
    """What variables hold here."""
    return tuple(variable.get() for variable in variables)


def assign(p: ProgramBuilder, variables: Sequence[Mutable], values: State) -> None:
    """All variables at once: each value is computed from the old ones."""
    for variable, value in zip(variables, [p.let(value) for value in values], strict=True):
        variable.set(value)
