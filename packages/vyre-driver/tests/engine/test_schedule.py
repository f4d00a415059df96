"""Schedules of several kernels, loops of the host, and traps: over lowerings written by hand."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.launch import LaunchValues, SetCounter, counters_of, evaluate, raise_trap, static_order, walk
from vyre_driver.errors import Trapped
from vyre_driver.legalization.lowered import Kernel, Lowered
from vyre_driver.legalization.schedule import COUNTERS, TRAPS, KernelLaunch, Repeat
from vyre_foundation.build import program
from vyre_foundation.dtype import i32, u8, u32, u64
from vyre_foundation.ir.buffer import Access, Buffer, Memory, Per, PerLaunch
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Id, IdKind, Length, Load, Select, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS

Engine = Callable[..., SimpleNamespace]
UseLowering = Callable[[Callable[..., Lowered]], None]

# ── walking ──


def loop(counter: int, start: int, stop: int, step: int, *body: KernelLaunch | Repeat) -> Repeat:
    return Repeat(counter, literal(i32, start), literal(i32, stop), step, body)


def steps(*schedule: KernelLaunch | Repeat) -> list[str]:
    """The walk as words: a number for a launch, counter=value for a counter."""
    values = LaunchValues({}, (1, 1, 1), 1, [])
    walked = walk(schedule, lambda bound: evaluate(bound, values))
    return [f"{s.counter}={s.value}" if isinstance(s, SetCounter) else str(s.kernel) for s in walked]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ([], ""),
        ([KernelLaunch(0), KernelLaunch(1), KernelLaunch(0)], "0 1 0"),
        ([loop(0, 0, 3, 1, KernelLaunch(0))], "0=0 0 0=1 0 0=2 0"),
        ([loop(0, -3, 5, 4, KernelLaunch(0))], "0=-3 0 0=1 0"),
        ([loop(0, 5, 5, 1, KernelLaunch(0)), KernelLaunch(1)], "1"),
        ([loop(0, 9, 5, 1, KernelLaunch(0))], ""),
        ([loop(0, 0, 2, 1, loop(1, 7, 9, 1, KernelLaunch(0)), KernelLaunch(1))], "0=0 1=7 0 1=8 0 1 0=1 1=7 0 1=8 0 1"),
        ([loop(0, 2**31 - 2, 2**31 - 1, 7, KernelLaunch(0))], "0=2147483646 0"),
    ],
)
def test_the_walk(schedule: list[KernelLaunch | Repeat], expected: str) -> None:
    assert " ".join(steps(*schedule)) == expected


def test_a_schedule_without_loops_is_known_beforehand() -> None:
    assert static_order([KernelLaunch(0), KernelLaunch(2)]) == (0, 2)
    assert static_order([KernelLaunch(0), loop(0, 0, 1, 1)]) is None


def test_how_many_counters() -> None:
    assert counters_of([KernelLaunch(0)]) == 0
    assert counters_of([loop(0, 0, 1, 1, loop(3, 0, 1, 1)), loop(1, 0, 1, 1)]) == 4


# ── bounds ──

A = Buffer("a", u32, Access.READ, Memory.STORAGE, binding=0)
C = Buffer(COUNTERS, u64, Access.READ, Memory.UNIFORM, 2, 1)
VALUES = LaunchValues({"a": 10}, (3, 4, 5), 8, [6, 2**64 - 1])


def lit(value: int) -> Any:
    return literal(u32, value)


@pytest.mark.parametrize(
    ("bound", "value"),
    [
        (lit(7), 7),
        (literal(i32, -7), -7),
        (Length(A), 10),
        (Id(IdKind.NUM_WORKGROUPS, 2), 5),
        (Id(IdKind.SUBGROUP_SIZE), 8),
        (Load(C, lit(0)), 6),
        (Load(C, lit(1)), 2**64 - 1),
        (Apply(OPS["sub"], lit(1), Length(A)), 2**32 - 9),
        (Apply(OPS["div"], Length(A), lit(0)), 10),
        (Select(Apply(OPS["lt"], Length(A), lit(11)), lit(1), lit(2)), 1),
        (Select(Apply(OPS["lt"], Length(A), lit(10)), lit(1), lit(2)), 2),
        (Cast(u8, lit(257)), 1),
        (Bitcast(i32, lit(2**32 - 1)), -1),
    ],
    ids=str,
)
def test_a_bound(bound: Any, value: int) -> None:
    assert evaluate(bound, VALUES) == value


def test_a_deep_bound_needs_no_stack() -> None:
    bound = Length(A)
    for _ in range(20_000):
        bound = Apply(OPS["add"], bound, lit(1))  # type: ignore[assignment]
    assert evaluate(bound, VALUES) == 20_010


# ── several kernels ──


def stepping() -> Program:
    with program("stepping", 2) as p:
        p.read_write("x", u64)
    return p.build()


def kernel(source: Program, name: str, *buffers: Buffer, lengths: tuple[str, ...] = ()) -> Kernel:
    bound = tuple(b.replace(binding=n) for n, b in enumerate(buffers))
    return Kernel(name, Program(name, bound, source.workgroup_size, ()), lengths)


def test_a_loop_of_launches_with_its_counter(engine: Engine, lowering: UseLowering) -> None:
    source = stepping()
    x, counters = source.buffers[0], C.replace(count=2)

    def lower(*_: Any) -> Lowered:
        inner = Repeat(1, Load(counters, lit(0)), Length(x), 1, (KernelLaunch(1),))
        return Lowered(
            source=source,
            kernels=(kernel(source, "first", x), kernel(source, "second", counters, x)),
            schedule=(KernelLaunch(0), Repeat(0, literal(i32, -1), literal(i32, 2), 2, (inner,))),
            buffers={"x": x, COUNTERS: counters},
        )

    trace: list[list[int]] = []

    def compute(arrays: Any) -> None:
        trace.append(arrays[COUNTERS].tolist() if COUNTERS in arrays else [])
        arrays["x"][:] += 1

    lowering(lower)
    e = engine(compute)
    (out,) = e.backend.dispatch(source, [np.zeros(3, np.uint64)])
    # In round -1 the inner loop starts at 2**64 - 1, what the counter's element holds, and does not run.
    assert trace == [[], [1, 1], [1, 2]]
    assert np.frombuffer(out, np.uint64).tolist() == [3, 3, 3]
    assert e.backend.backend_metric_snapshot()["copies_in"] == 1 + 2 + 2  # x, two rounds, two rounds


def test_a_loop_may_run_over_memory_that_is_not_bound(engine: Engine, lowering: UseLowering) -> None:
    with program("shared", 2) as p:
        p.read_write("x", u64)
        p.workgroup("shared", u32, 3)
    source = p.build()
    x, shared = source.buffers
    lowering(
        lambda *_: Lowered(
            source=source,
            kernels=(kernel(source, "k", x),),
            schedule=(Repeat(0, lit(0), Length(shared), 1, (KernelLaunch(0),)),),
            buffers={"x": x},
        )
    )
    e = engine()
    e.backend.dispatch(source, [np.zeros(1, np.uint64)])
    assert e.backend.backend_metric_snapshot()["launches"] == 3


def test_memory_that_lowering_adds_is_sized_by_the_launch(engine: Engine, lowering: UseLowering) -> None:
    source = stepping()
    x = source.buffers[0]
    per_group = Buffer("spill", u32, Access.READ_WRITE, Memory.SCRATCH, PerLaunch(Per.WORKGROUP, 3), 1)
    per_item = Buffer("lanes", u8, Access.READ_WRITE, Memory.SCRATCH, PerLaunch(Per.INVOCATION), 2)
    lowering(
        lambda *_: Lowered(
            source=source,
            kernels=(kernel(source, "k", per_item, x, per_group, lengths=("spill", "x", "lanes")),),
            schedule=(KernelLaunch(0),),
            buffers={"x": x, "spill": per_group, "lanes": per_item},
        )
    )
    seen = []
    e = engine(lambda arrays: seen.append({name: a.tolist() for name, a in arrays.items()}))
    e.backend.dispatch(source, [np.full(5, 7, np.uint64)])
    assert seen == [{"x": [7] * 5, "spill": [0] * 9, "lanes": [0] * 6}]
    assert e.ports[0].arguments[0][3:] == (9, 5, 6)


# ── traps ──


def sidecar(*records: int) -> memoryview:
    return memoryview(np.array(records, np.uint64)).cast("B")


QUIET = 2**64 - 1


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((3 << 32 | 9, QUIET), ("first", 9, 3)),
        ((QUIET, 0), ("second", 0, 0)),
        ((5 << 32, 4 << 32 | 1), ("second", 1, 4)),
        ((5 << 32 | 8, 5 << 32 | 1), ("first", 8, 5)),
        (((2**32 - 1) << 32 | 2**32 - 2, QUIET), ("first", 2**32 - 2, 2**32 - 1)),
    ],
)
def test_the_lowest_invocation_then_the_first_statement(
    records: tuple[int, int], expected: tuple[str, int, int]
) -> None:
    with pytest.raises(Trapped) as caught:
        raise_trap(("first", "second"), sidecar(*records), stepping())
    assert (caught.value.tag, caught.value.trap_code, caught.value.invocation) == expected
    assert caught.value.where == "program 'stepping'"


def test_nobody_trapped() -> None:
    raise_trap(("first", "second"), sidecar(QUIET, QUIET), stepping())


def trapping(source: Program) -> Lowered:
    x = source.buffers[0]
    traps = Buffer(TRAPS, u64, Access.READ_WRITE, Memory.STORAGE, 2, 1)
    return Lowered(
        source=source,
        kernels=(kernel(source, "k", x, traps),),
        schedule=(KernelLaunch(0),),
        buffers={"x": x, TRAPS: traps},
        traps=("too small", "too large"),
    )


def test_a_trap_ends_the_dispatch_and_frees_its_memory(engine: Engine, lowering: UseLowering) -> None:
    source = stepping()
    lowering(lambda *_: trapping(source))

    def compute(arrays: Any) -> None:
        large = np.flatnonzero(arrays["x"] > 10)
        if large.size:
            arrays[TRAPS][1] = min(arrays[TRAPS][1], np.uint64(int(large[0]) << 32 | 77))

    e = engine(compute)
    assert e.backend.dispatch(source, [np.arange(3, dtype=np.uint64)]) == [np.arange(3, dtype=np.uint64).tobytes()]
    with pytest.raises(Trapped) as caught:
        e.backend.dispatch(source, [np.array([1, 11, 12], np.uint64)], DispatchConfig(fixpoint_iterations=2))
    assert str(caught.value).startswith("program 'stepping': invocation 1 trapped with 'too large', code 77. Fix: ")
    assert len(e.ports[0].live) == 2  # those of the first launch
    assert e.ports[0].log.count("copy_out") == 2 + 1  # no output was read
    assert e.backend.dispatch(source, [np.arange(3, dtype=np.uint64)])
