"""Out of bounds in every memory, lengths of zero, zeroed memory, layouts."""

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import Array, ProgramBuilder, constant, program
from vyre_foundation.dtype import INTEGERS, DType, bf16, bool_, f16, f32, f64, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.buffer import Per, PerLaunch

COUNT = 8


def declare(p: ProgramBuilder, memory: str, dtype: DType) -> Array:
    values = np.arange(1, COUNT + 1)
    match memory:
        case "storage":
            return p.read("m", dtype, COUNT)
        case "uniform":
            return p.uniform("m", dtype, COUNT)
        case "constant":
            return p.constant("m", dtype, values)
        case _:
            return getattr(p, memory)("m", dtype, COUNT)


INDICES = [-(2**63), -(2**40), -(2**31), -9, -8, -1, 0, 1, 7, 8, 9, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32, 2**63 - 1]
MEMORIES = ["storage", "uniform", "constant", "workgroup", "private", "scratch", "persistent"]


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_load_out_of_bounds_is_zero(backend: VyreBackend, memory: str) -> None:
    """With every index type, computed and literal; what is written first is written by one invocation."""
    with program(f"loads_{memory}", workgroup_size=1) as p:
        m = declare(p, memory, u32)
        indices = {t: p.read(f"index_{t}", t) for t in INTEGERS}
        outs = {t: p.write(f"out_{t}", u32, like=indices[t]) for t in INTEGERS}
        literal = p.write("literal", u32, 5)
        if memory not in ("storage", "uniform", "constant"):
            with p.range(0, COUNT) as j:
                m[j] = j + 1
        for t in INTEGERS:
            with p.range(0, indices[t].length) as j:
                outs[t][j] = m[indices[t][j]]
        for position, index in enumerate(
            [constant(i32, -1), constant(u32, 7), constant(u8, 8), 99, constant(i64, -(2**63))]
        ):
            literal[position] = m[index]
    given = {t: np.array([i for i in INDICES if t.lowest <= i <= t.highest], t.numpy) for t in INTEGERS}
    contents = [np.arange(1, COUNT + 1, dtype=np.uint32)] if memory in ("storage", "uniform") else []
    got = backend.dispatch(p.build(), [*contents, *given.values()], DispatchConfig(grid_override=(1, 1, 1)))
    for (_, indices), out in zip(given.items(), got, strict=False):
        expected = [int(i) + 1 if 0 <= i < COUNT else 0 for i in indices.tolist()]
        assert np.frombuffer(out, np.uint32).tolist() == expected
    assert np.frombuffer(got[-1], np.uint32).tolist() == [0, 8, 0, 0, 0]


@pytest.mark.parametrize("memory", ["read_write", "workgroup", "private", "scratch", "persistent"])
def test_a_store_or_atomic_out_of_bounds_does_nothing(backend: VyreBackend, memory: str) -> None:
    with program(f"stores_{memory}", workgroup_size=1) as p:
        m = p.read_write("m", i32, COUNT) if memory == "read_write" else declare(p, memory, i32)
        index = p.read("index", i64)
        out, old = p.write("out", i32, COUNT), p.write("old", i32, like=index)
        with p.range(0, index.length) as j:
            m[index[j]] = 5
            if memory != "private":
                old[j] = m.atomic_add(index[j], 1)
        with p.range(0, COUNT) as j:
            out[j] = m[j]
    given = [np.zeros(COUNT, np.int32)] if memory == "read_write" else []
    got = backend.dispatch(p.build(), [*given, np.array(INDICES)], DispatchConfig(grid_override=(1, 1, 1)))
    hit = 5 if memory == "private" else 6
    *_, out, old = got
    assert np.frombuffer(out, np.int32).tolist() == [hit if i in (0, 1, 7) else 0 for i in range(COUNT)]
    if memory != "private":
        assert np.frombuffer(old, np.int32).tolist() == [5 if 0 <= i < COUNT else 0 for i in INDICES]


def test_buffers_of_no_elements(backend: VyreBackend) -> None:
    with program("empty", workgroup_size=64) as p:
        a, w = p.read("a", f32), p.read_write("w", u64)
        out, empty = p.write("out", f32, 3), p.write("empty", f16, like=a)
        shared, table = p.workgroup("shared", u32, 0), p.constant("table", u32, np.zeros(0, np.uint32))
        mine = p.private("mine", f64, 0)
        i = p.global_id(0)
        w[i] = 1
        empty[i] = 1.0
        shared[i] = 1
        mine[i] = 1.0
        total = a[i] + shared[i].cast(f32) + table[i].cast(f32) + mine[i].cast(f32) + a.length.cast(f32)
        out[i] = total + 1.0
    got = backend.dispatch(p.build(), [b"", b""])
    assert [bytes(x) for x in got] == [b"", np.ones(3, np.float32).tobytes(), b""]


def test_workgroup_and_private_memory_is_zero_in_every_group(backend: VyreBackend) -> None:
    with program("zeroed", workgroup_size=32) as p:
        out = p.write("out", u32, 256)
        shared, mine = p.workgroup("shared", u32, 100), p.private("mine", u32, 5)
        i, lid = p.global_id(0), p.local_id(0)
        seen = p.var(0, u32)
        with p.range(0, 100) as j:
            seen.set(seen | shared[j])
        with p.range(0, 5) as j:
            seen.set(seen | mine[j])
            mine[j] = 9
        p.barrier()
        shared[lid * 3] = i + 1
        p.barrier()
        out[i] = seen
    (got,) = backend.dispatch(p.build(), [])
    assert np.frombuffer(got, np.uint32).tolist() == [0] * 256


@pytest.mark.parametrize("t", [bool_, u8, u16, f16, bf16, f32, f64], ids=str)
def test_every_type_passes_through_every_memory(backend: VyreBackend, t: DType) -> None:
    values = np.array([0, 1, 1, 0, 1, 1, 0, 1] if t is bool_ else [0, 1, 2, 3, 5, 8, 13, 21]).astype(t.numpy)
    with program(f"through_{t}", workgroup_size=8) as p:
        a, u = p.read("a", t), p.uniform("u", t, 8)
        table, shared, mine = p.constant("table", t, values), p.workgroup("shared", t, 8), p.private("mine", t, 1)
        scratch, out = p.scratch("scratch", t, 8), p.write("out", t, like=a)
        i = p.global_id(0)
        mine[0] = table[i]
        shared[i] = mine[0]
        p.barrier()
        scratch[7 - i] = shared[7 - i]
        p.grid_barrier()
        out[i] = scratch[i] & u[i] if t is bool_ else scratch[i] + u[i] - a[i]
    (got,) = backend.dispatch(p.build(), [values.tobytes()] * 2)
    assert bytes(got) == values.tobytes()


def test_canonical_nans_in_memory(backend: VyreBackend) -> None:
    """Payloads and signs of NaN end at the store; what is only copied is canonical too."""
    f32_bits = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x7F800000, 0x80000000], np.uint32)
    with program("nans", workgroup_size=1) as p:
        a, out, bits = p.read("a", f32), p.write("out", f32, 6), p.write("bits", u32, 6)
        halves = p.write("halves", f16, 6)
        with p.range(0, 6) as j:
            out[j] = a[j]
            bits[j] = a[j].bitcast(u32)
            halves[j] = a[j].cast(f16)
    out, bits, halves = backend.dispatch(p.build(), [f32_bits], DispatchConfig(grid_override=(1, 1, 1)))
    expected = [0x7FC00000] * 4 + [0x7F800000, 0x80000000]
    assert np.frombuffer(out, np.uint32).tolist() == expected
    assert np.frombuffer(bits, np.uint32).tolist() == expected
    assert np.frombuffer(halves, np.uint16).tolist() == [0x7E00] * 4 + [0x7C00, 0x8000]


@pytest.mark.parametrize("t", [f16, f32, f64], ids=str)
def test_tables_hold_every_float(backend: VyreBackend, t: DType) -> None:
    values = np.array([np.inf, -np.inf, np.nan, -0.0, 0.1, 2.0**-24, -65504.0], t.numpy)
    with program(f"table_{t}", workgroup_size=7) as p:
        table, out = p.constant("table", t, values), p.write("out", t, 7)
        out[p.global_id(0)] = table[p.global_id(0)]
    (got,) = backend.dispatch(p.build(), [])
    assert bytes(got) == values.tobytes()


def test_a_bool_is_any_byte_but_zero(backend: VyreBackend) -> None:
    with program("bools", workgroup_size=8) as p:
        a = p.read("a", bool_)
        out = p.write("out", bool_, like=a)
        out[p.global_id(0)] = a[p.global_id(0)]
    (got,) = backend.dispatch(p.build(), [bytes([0, 1, 2, 255, 128, 0])])
    assert bytes(got) == bytes([0, 1, 1, 1, 1, 0])


def test_counts_that_grow_with_the_launch(backend: VyreBackend) -> None:
    with program("per_launch", workgroup_size=4) as p:
        a = p.read("a", u32)
        groups = p.scratch("groups", u32, PerLaunch(Per.WORKGROUP, 2))
        lanes = p.scratch("lanes", u32, PerLaunch(Per.INVOCATION))
        out = p.write("out", u32, 3)
        i = p.global_id(0)
        lanes[i] = a[i]
        out[0] = groups.length
        out[1] = lanes.length
        out[2] = a.length
    (got,) = backend.dispatch(p.build(), [np.zeros(3, np.uint32)], DispatchConfig(grid_override=(5, 1, 1)))
    assert np.frombuffer(got, np.uint32).tolist() == [10, 20, 3]


def test_an_output_range_is_what_the_host_gets(backend: VyreBackend) -> None:
    with program("ranged", workgroup_size=8) as p:
        out = p.write("out", u32, 8, output_range=(8, 20))
        out[p.global_id(0)] = p.global_id(0)
    (got,) = backend.dispatch(p.build(), [])
    assert np.frombuffer(got, np.uint32).tolist() == [2, 3, 4]


def test_persistent_memory_belongs_to_the_pipeline(backend: VyreBackend) -> None:
    with program("counter", workgroup_size=1) as p:
        count, out = p.persistent("count", u32, 1), p.write("out", u32, 1)
        count[0] = count[0] + 1
        out[0] = count[0]
    counter = p.build()
    pipeline = backend.compile_native(counter)
    assert pipeline is not None
    assert [np.frombuffer(pipeline.dispatch([])[0], np.uint32)[0] for _ in range(3)] == [1, 2, 3]
    assert np.frombuffer(backend.dispatch(counter, [])[0], np.uint32)[0] == 1
