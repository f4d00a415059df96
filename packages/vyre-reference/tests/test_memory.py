"""Bounds, the kinds of memory, and what bytes mean."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation import build
from vyre_foundation.build import program
from vyre_foundation.dtype import (
    DTYPES,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from vyre_foundation.ir.buffer import Per, PerLaunch
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.stmt import Atomic, AtomicOp, Store
from vyre_reference import UndefinedBehaviour

# fmt: off
OUTSIDE = [
    (u8, 4), (u8, 255), (u16, 65535), (u32, 4), (u32, 2**32 - 1),
    (u64, 4), (u64, 2**32), (u64, 2**63), (u64, 2**64 - 1),
    (i8, -1), (i8, -128), (i16, -1), (i16, 4), (i32, -4), (i32, -2**31),
    (i64, -1), (i64, -2**63), (i64, 2**63 - 1), (i64, 2**32),
]
# fmt: on


@pytest.mark.parametrize("memory", ["storage", "scratch", "workgroup", "private", "constant", "uniform"])
@pytest.mark.parametrize("from_input", [True, False], ids=["loaded", "literal"])
@pytest.mark.parametrize(("dtype", "index"), OUTSIDE, ids=str)
def test_out_of_bounds(run, typed, dtype, index, from_input, memory):
    """A load gives 0, a store is dropped, an atomic does nothing and gives 0, wherever the memory is."""
    with program("outside", 1) as p:
        at = p.read("at", dtype)
        contents = p.read_write("storage", u32, 4)
        table = p.constant("constant", u32, [7, 7, 7, 7])
        small = p.uniform("uniform", u32, 4)
        arrays = {"storage": contents, "constant": table, "uniform": small}
        arrays["scratch"] = p.scratch("scratch", u32, 4)
        arrays["workgroup"] = p.workgroup("workgroup", u32, 4)
        arrays["private"] = p.private("private", u32, 4)
        out = p.write("out", u32, 3)
        chosen = arrays[memory]
        place = at[0] if from_input else build.constant(dtype, index)
        if memory not in ("storage", "constant", "uniform"):
            with p.range(0, 4) as n:
                chosen[n] = 7
        if memory not in ("constant", "uniform"):
            chosen[place] = 9
        if memory not in ("constant", "uniform", "private"):
            out[1] = chosen.atomic_add(place, 5) + 1
        out[0] = chosen[place] + 1
        out[2] = chosen[0] + chosen[1] + chosen[2] + chosen[3]
    sevens = np.full(4, 7, np.uint32)
    got = run(p.build(), {"at": typed(dtype, [index]), "storage": sevens, "uniform": sevens})
    assert got["out"].tolist() == [1, 0 if memory in ("constant", "uniform", "private") else 1, 28]
    assert got["storage"].tolist() == [7, 7, 7, 7]


def test_some_lanes_out_of_bounds(run):
    with program("edge", 8) as p:
        a = p.read("a", i16)
        out = p.write("out", i16, like=a)
        counts = p.read_write("counts", u32, 2)
        i = p.global_id(0)
        out[i.cast(i32) - 1] = a[i] + 1
        counts.atomic_add(i >> 1, 10)
    got = run(
        p.build(),
        {"a": np.array([10, 20, 30], np.int16), "counts": np.zeros(2, np.uint32)},
        DispatchConfig(grid_override=(1, 1, 1)),
    )
    assert got["out"].tolist() == [21, 31, 1]
    assert got["counts"].tolist() == [20, 20]


def test_zero_length_buffers(run):
    with program("empty", 4) as p:
        a = p.read("a", f32)
        b = p.read_write("b", u64)
        out = p.write("out", u32, like=a)
        sums = p.write("sums", u32, 1)
        i = p.global_id(0)
        old = b.atomic_add(0, 1)
        b[i] = 5
        out[i] = 1
        with p.if_(i == 0):
            sums[0] = a.length + b.length + out.length + a[0].cast(u32) + old.cast(u32) + b[0].cast(u32)
    got = run(p.build(), {"a": np.zeros(0, np.float32), "b": np.zeros(0, np.uint64)})
    assert [got["b"].size, got["out"].size, got["sums"].tolist()] == [0, 0, [0]]


def test_nothing_runs_over_an_empty_grid(run):
    with program("nothing", 4) as p:
        a = p.read("a", f32)
        out = p.write("out", f32, like=a)
        p.trap(1, "never")
        out[p.global_id(0)] = 1.0
    assert run(p.build(), {"a": np.zeros(0, np.float32)})["out"].size == 0
    full = run(p.build(), {"a": np.ones(3, np.float32)}, DispatchConfig(grid_override=(1, 0, 1)))["out"]
    assert full.tolist() == [0.0, 0.0, 0.0]


def test_any_byte_but_zero_is_true(run):
    with program("bools", 5) as p:
        a = p.read("a", bool_)
        out, same = p.write("out", bool_, like=a), p.write("same", bool_, like=a)
        i = p.global_id(0)
        out[i] = a[i]
        same[i] = build.apply("eq", a[i], a[3])
    got = run(p.build(), {"a": np.array([0, 1, 2, 255, 128], np.uint8).view(np.bool_)})
    assert got["out"].view(np.uint8).tolist() == [0, 1, 1, 1, 1]
    assert got["same"].view(np.uint8).tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("dtype", "noise", "nan"),
    [(f16, 0xFC01, 0x7E00), (bf16, 0xFF81, 0x7FC0), (f32, 0x7F800001, 0x7FC00000), (f64, 2**64 - 1, 0x7FF8 << 48)],
    ids=str,
)
def test_a_nan_is_stored_as_the_canonical_one(run, dtype, noise, nan):
    """Also where lanes without one are stored beside it, and where the value is the same for all."""
    with program("nan", 4) as p:
        a = p.read("a", dtype)
        out, same = p.write("out", dtype, like=a), p.write("same", dtype, like=a)
        i = p.global_id(0)
        out[i] = a[i]
        same[i] = a[0]
    unsigned = f"<u{dtype.size}"
    got = run(p.build(), {"a": np.array([noise, 1, noise, 0], unsigned).view(dtype.numpy)})
    assert got["out"].view(unsigned).tolist() == [nan, 1, nan, 0]
    assert got["same"].view(unsigned).tolist() == [nan] * 4


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type_in_every_memory(run, typed, dtype):
    values = typed(dtype, [True, False, True, True] if dtype is bool_ else [1, 0, 3, 100])
    with program("copy", 4) as p:
        a = p.read("a", dtype)
        table = p.constant("table", dtype, values.tolist() if dtype is not bf16 else values)
        shared, own = p.workgroup("shared", dtype, 4), p.private("own", dtype, 2)
        scratch, kept = p.scratch("scratch", dtype, like=a), p.persistent("kept", dtype, like=a)
        out, constant = p.write("out", dtype, like=a), p.write("constant", dtype, like=a)
        i = p.global_id(0)
        shared[p.local_id(0)] = a[i]
        own[1] = shared[p.local_id(0)]
        scratch[i] = own[1]
        kept[i] = scratch[i]
        out[i] = kept[i]
        constant[i] = table[i]
    got = run(p.build(), {"a": values})
    assert got["out"].tobytes() == got["constant"].tobytes() == values.tobytes()


def test_memory_is_zero_at_the_start_of_its_life(run):
    """Workgroup memory for every group, private memory for every invocation, scratch and outputs once."""
    with program("zero", 2) as p:
        shared, own = p.workgroup("shared", u32, 2), p.private("own", u32, 1)
        scratch = p.scratch("scratch", u32, PerLaunch(Per.INVOCATION))
        out = p.write("out", u32, 8)
        i, l = p.global_id(0), p.local_id(0)
        with p.range(0, 3):
            shared[l] = shared[l] + 1
            own[0] = own[0] + 10
            scratch[i] = scratch[i] + 100
            out[i] = shared[l] + own[0] + scratch[i]
    assert run(p.build(), {})["out"].tolist() == [333] * 8


def test_workgroup_memory_is_not_shared_between_groups(run):
    with program("groups", 4) as p:
        shared = p.workgroup("shared", u32, 4)
        out = p.write("out", u32, 16)
        i, l = p.global_id(0), p.local_id(0)
        shared[3 - l] = i
        p.barrier()
        out[i] = shared[l]
    assert run(p.build(), {})["out"].tolist() == [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12]


def test_the_last_invocation_wins_a_race(run):
    """An error of the program, but not a surprise: both evaluators leave what their order leaves."""
    with program("last", 4) as p:
        out = p.write("out", u32, 2)
        out[0] = p.global_id(0) + 5
        out[1] = p.workgroup_id(0) + p.local_id(0)
    assert run(p.build(), {}, DispatchConfig(grid_override=(2, 1, 1)))["out"].tolist() == [12, 4]


@pytest.mark.parametrize("access", ["load", "store", "atomic"])
@pytest.mark.parametrize("index", [4, -1], ids=str)
def test_proven_accesses_that_are_out_of_bounds(force, typed, access, index):
    with program("proven", 4) as p:
        at = p.read("at", i32)
        out = p.read_write("out", u32, 4)
        i = p.global_id(0)
        place = at[i].expr
        match access:
            case "load":
                out[i] = build.Value(Load(out.decl, place, checked=False))
            case "store":
                p._emit(Store(out.decl, place, i.expr, checked=False))
            case "atomic":
                p._emit(Atomic(AtomicOp.ADD, out.decl, place, i.expr, checked=False))
    built, sevens = p.build_unchecked(), np.full(4, 7, np.uint32).tobytes()
    good = force(built, {"at": typed(i32, [3, 2, 1, 0]).tobytes(), "out": sevens})["out"]
    assert (
        np.frombuffer(good, np.uint32).tolist()
        == {"load": [7, 7, 7, 7], "store": [3, 2, 1, 0], "atomic": [10, 9, 8, 7]}[access]
    )
    with pytest.raises(UndefinedBehaviour, match=r"of 'out' was proven to be below 4") as caught:
        force(built, {"at": typed(i32, [3, 2, index, 0]).tobytes(), "out": sevens})
    assert caught.value.fields["invocation"] == 2


def test_what_an_inactive_arm_would_do_is_not_done(force, typed):
    """A proven load in a branch is only proven for those who take it."""
    with program("guarded", 4) as p:
        at = p.read("at", u32)
        out = p.write("out", u32, 4)
        i = p.global_id(0)
        with p.if_(at[i] < at.length):
            out[i] = build.Value(Load(at.decl, at[i].expr, checked=False)) + 1
    got = force(p.build_unchecked(), {"at": typed(u32, [2, 99, 0, 2**32 - 1]).tobytes()})["out"]
    assert np.frombuffer(got, np.uint32).tolist() == [1, 0, 3, 0]


def test_stores_of_64_bits_and_of_one_byte(run):
    with program("sizes", 4) as p:
        wide, narrow = p.write("wide", u64, 4), p.write("narrow", i8, 4)
        i = p.global_id(0)
        wide[i] = build.constant(u64, 2**64 - 1) - i.cast(u64)
        narrow[i] = i.cast(i64).cast(i8) + build.constant(i8, -128)
    got = run(p.build(), {})
    assert got["wide"].tolist() == [2**64 - 1, 2**64 - 2, 2**64 - 3, 2**64 - 4]
    assert got["narrow"].tolist() == [-128, -127, -126, -125]
