"""Every atomic on its four types in its memories: contention, old values, order-free results."""

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import apply, constant, program, select
from vyre_foundation.dtype import DType, i32, i64, u32, u64
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.ops import OPS

TYPES = [u32, i32, u64, i64]
GROUPS, SIZE = 6, 32
FOLDS = [op for op in AtomicOp if op not in (AtomicOp.EXCHANGE, AtomicOp.COMPARE_EXCHANGE)]


@pytest.mark.parametrize(
    ("t", "memory"),
    [
        *((t, "storage") for t in TYPES),
        *((u32, "scratch"), (i64, "scratch")),
        *((i32, "workgroup"), (u64, "workgroup")),
    ],
    ids=str,
)
def test_contended_folds(backend: VyreBackend, t: DType, memory: str) -> None:
    """All invocations fold into one element for each op; workgroup memory is then folded into the output."""
    with program(f"folds_{t}_{memory}", workgroup_size=SIZE) as p:
        a, start = p.read("a", t), p.read("start", t)
        out = p.read_write("out", t, len(FOLDS))
        cells = out if memory == "storage" else getattr(p, memory)("cells", t, len(FOLDS))
        i, lid = p.global_id(0), p.local_id(0)
        if memory == "workgroup":
            with p.if_(lid < len(FOLDS)):
                cells[lid] = start[lid]
            p.barrier()
        if memory == "scratch":
            with p.if_(i < len(FOLDS)):
                cells[i] = start[i]
            p.grid_barrier()
        for number, op in enumerate(FOLDS):
            getattr(cells, f"atomic_{op.value}")(number, a[i])
        if memory == "workgroup":
            p.barrier()
            with p.if_(lid == 0):
                for number, op in enumerate(FOLDS):
                    getattr(out, f"atomic_{op.value}")(number, cells[number])
        if memory == "scratch":
            p.grid_barrier()
            with p.if_(i < len(FOLDS)):
                out[i] = cells[i]
    values = np.random.default_rng(t.tag).integers(t.lowest, t.highest, GROUPS * SIZE, t.numpy, endpoint=True)
    neutral = np.array([0, -1 if t.is_signed else t.highest, 0, 0, t.highest, t.lowest], t.numpy)
    (got,) = backend.dispatch(p.build(), [values, neutral, neutral], DispatchConfig(grid_override=(GROUPS, 1, 1)))
    assert np.frombuffer(got, t.numpy).tolist() == [
        folded(op, t, values.tolist(), int(neutral[n])) for n, op in enumerate(FOLDS)
    ]


def folded(op: AtomicOp, t: DType, values: list[int], start: int) -> int:
    for value in values:
        start = int(OPS[op.value].evaluate(t, start, value))
    return start


@pytest.mark.parametrize(
    ("t", "memory"), [*((t, "storage") for t in TYPES), (u32, "workgroup"), (i64, "workgroup")], ids=str
)
def test_old_values_of_single_owners(agree, t: DType, memory: str) -> None:
    """Where one invocation owns an element, old and new values are certain, compare-exchange included."""
    with program(f"owned_{t}_{memory}", workgroup_size=16) as p:
        a, b = p.read("a", t), p.read("b", t)
        out = p.write("out", t, 16 * 10)
        cells = p.workgroup("cells", t, 16) if memory == "workgroup" else p.scratch("cells", t, 64)
        i = p.global_id(0)
        for number, op in enumerate(AtomicOp):
            cells[i] = a[i]
            if op is AtomicOp.COMPARE_EXCHANGE:
                old = cells.atomic_compare_exchange(i, select(i % 2 == 0, a[i], b[i]), b[i])
            else:
                old = getattr(cells, f"atomic_{op.value}")(i, b[i])
            out[i * 10 + number] = old ^ cells[i]
    rng = np.random.default_rng(3)
    given = [rng.integers(t.lowest, t.highest, 16, t.numpy, endpoint=True) for _ in range(2)]
    given[0][:4] = given[1][:4] = [t.lowest, t.highest, 0, 1]
    agree(p.build(), given, DispatchConfig(grid_override=(1, 1, 1)))


@pytest.mark.parametrize("t", TYPES, ids=str)
def test_old_values_are_a_permutation(backend: VyreBackend, t: DType) -> None:
    """Each ticket is drawn once, however the invocations interleave."""
    with program(f"tickets_{t}", workgroup_size=64) as p:
        out, counter = p.write("out", u32, 64 * 32), p.scratch("counter", t, 1)
        out[counter.atomic_add(0, 1)] = p.global_id(0) + 1
    (got,) = backend.dispatch(p.build(), [])
    assert sorted(np.frombuffer(got, np.uint32).tolist()) == list(range(1, 64 * 32 + 1))


def test_exchanges_lose_nothing(backend: VyreBackend) -> None:
    """A chain of exchanges passes every value on once; what stays in the cell is the last."""
    with program("chain", workgroup_size=64) as p:
        out, cell = p.write("out", u64, 1024), p.read_write("cell", u64, 1)
        out[p.global_id(0)] = cell.atomic_exchange(0, p.global_id(0).cast(u64) + (1 << 40))
    out, cell = backend.dispatch(p.build(), [np.zeros(1, np.uint64)])
    seen = np.concatenate([np.frombuffer(out, np.uint64), np.frombuffer(cell, np.uint64)])
    assert sorted(seen.tolist()) == [0, *((1 << 40) + i for i in range(1024))]


def test_a_lock_made_of_compare_exchange(backend: VyreBackend) -> None:
    """Bounded attempts to raise a maximum: what the loop must not do is lose an update that it saw succeed."""
    with program("raise", workgroup_size=32) as p:
        out, cell = p.write("won", u32, 1), p.read_write("cell", i64, 1)
        mine = p.global_id(0).cast(i64) * 3
        with p.range(0, 4):
            seen = p.let(cell.atomic_max(0, mine))
            with p.if_(apply("lt", seen, mine)):
                out.atomic_add(0, 1)
    won, cell = backend.dispatch(p.build(), [np.full(1, -5, np.int64)], DispatchConfig(grid_override=(8, 1, 1)))
    assert np.frombuffer(cell, np.int64).tolist() == [255 * 3]
    assert 1 <= np.frombuffer(won, np.uint32)[0] <= 256


def test_histogram(backend: VyreBackend) -> None:
    data = np.random.default_rng(1).integers(0, 256, 20_000, np.uint8)
    with program("histogram", workgroup_size=128) as p:
        a = p.read("a", u32)
        out, local = p.write("out", u32, 256), p.workgroup("local", u32, 256)
        i, lid = p.global_id(0), p.local_id(0)
        with p.if_(i < a.length):
            for byte in range(4):
                local.atomic_add((a[i] >> (8 * byte)) & 0xFF, 1)
        p.barrier()
        with p.range(0, 2) as k:
            out.atomic_add(lid + 128 * k, local[lid + 128 * k])
    (got,) = backend.dispatch(p.build(), [data.view(np.uint32)], DispatchConfig(grid_override=(40, 1, 1)))
    assert np.frombuffer(got, np.uint32).tolist() == np.bincount(data, minlength=256).tolist()


def test_literals_of_every_type_fold(agree) -> None:
    with program("literals", workgroup_size=1) as p:
        for t in TYPES:
            out = p.write(f"out_{t}", t, 3)
            out.atomic_add(0, constant(t, t.highest))
            out.atomic_min(1, constant(t, t.lowest))
            out.atomic_xor(2, constant(t, t.highest))
    agree(p.build(), [], DispatchConfig(grid_override=(1, 1, 1)))
