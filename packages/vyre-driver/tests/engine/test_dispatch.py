"""The dispatch path over the fake port: bytes in, bytes out, and exactly which calls reach the device."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput, InvalidProgram, OutputLimitExceeded, UnsupportedFeature
from vyre_driver.testing.fake_port import ELAPSED_NS
from vyre_driver.testing.target import generous_profile, generous_target
from vyre_foundation.build import program
from vyre_foundation.dtype import bool_, f32, f64, i32, i64, u8, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import AtomicOp

Engine = Callable[..., SimpleNamespace]


def adding() -> Program:
    with program("adding", 4) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] + b[i]
    return p.build()


def add(x: Any) -> None:
    x["out"][:] = x["a"] + x["b"]


A, B = np.arange(5, dtype=np.uint32), np.full(5, 7, np.uint32)
SUM = (A + B).tobytes()


def counts(backend: Any, *names: str) -> tuple[int, ...]:
    snapshot = backend.backend_metric_snapshot()
    return tuple(snapshot[name] for name in names)


# ── what reaches the device ──


def test_a_dispatch_is_these_calls(engine: Engine) -> None:
    e = engine(add)
    assert e.backend.dispatch(adding(), [A, B]) == [SUM]
    (port,) = e.ports
    assert port.log == [
        *["probe", "target", "emit", "compile"],
        *["allocate"] * 3,
        *["copy_in", "copy_in", "launch", "copy_out"],
    ]
    counted = e.backend.backend_metric_snapshot()
    assert {name: value for name, value in counted.items() if not name.endswith("_ns")} == {
        "dispatches": 1,
        "failures": 0,
        "plans": 1,
        "compiles": 1,
        "loads": 0,
        "saves": 0,
        "refused_loads": 0,
        "missed_empty_cache": 0,
        "missed_program_changed": 0,
        "missed_dispatch_policy_changed": 0,
        "missed_device_or_runtime_changed": 0,
        "missed_key_absent": 0,
        "prepares": 1,
        "launches": 1,
        "replays": 0,
        "waits": 1,
        "fills": 0,
        "copies_in": 2,
        "copies_out": 1,
        "copies_beside": 0,
        "bytes_in": 40,
        "bytes_out": 20,
        "allocations": 3,
        "frees": 0,
        "bytes_allocated": 60,
        "bytes_freed": 0,
    }


def test_a_warm_dispatch_moves_bytes_and_launches_and_nothing_else(engine: Engine) -> None:
    e, source = engine(add), adding()
    e.backend.dispatch(source, [A, B])
    (port,) = e.ports
    port.log.clear()
    assert e.backend.dispatch(source, [B, B], DispatchConfig(label="again")) == [(B + B).tobytes()]
    assert port.log == ["copy_in", "copy_in", "launch", "copy_out"]
    assert port.arguments[0] is port.arguments[1]
    assert counts(e.backend, "plans", "compiles", "prepares", "allocations") == (1, 1, 1, 3)


def test_an_output_that_is_not_written_everywhere_is_filled(engine: Engine) -> None:
    e, source = engine(add), adding()
    config = DispatchConfig(grid_override=(1, 1, 1))  # 4 of 5 elements
    e.backend.dispatch(source, [A, B], config)
    (port,) = e.ports
    port.log.clear()
    e.backend.dispatch(source, [A, B], config)
    assert port.log == ["copy_in", "copy_in", "fill", "launch", "copy_out"]


def test_nothing_happens_before_the_first_use(engine: Engine) -> None:
    e = engine(add)
    assert (e.backend.id(), e.backend.version(), e.backend.device_lost()) == ("fake", "unspecified", False)
    assert e.backend.pipeline_cache_snapshot().misses == 0
    assert e.ports == []
    e.backend.prepare()
    assert [port.log for port in e.ports] == [["probe", "target"]]


def test_inputs_are_not_kept(engine: Engine) -> None:
    e, a = engine(add), bytearray(A.tobytes())
    (out,) = e.backend.dispatch(adding(), [a, B])
    a[:] = bytes(20)
    assert out == SUM
    assert not out.readonly


def test_another_length_is_another_launch_of_the_same_code(engine: Engine) -> None:
    e, source = engine(add), adding()
    for n in (5, 3, 5, 3):
        e.backend.dispatch(source, [A[:n], B[:n]])
    assert counts(e.backend, "plans", "compiles", "prepares", "allocations") == (2, 1, 2, 6)


def test_equal_programs_share_code(engine: Engine) -> None:
    e = engine(add)
    e.backend.dispatch(adding(), [A, B])
    e.backend.dispatch(adding(), [A, B])
    snapshot = e.backend.pipeline_cache_snapshot()
    assert (snapshot.hits, snapshot.misses) == (1, 1)
    assert counts(e.backend, "compiles", "prepares") == (1, 2)


def test_lengths_are_arguments(engine: Engine) -> None:
    e = engine(add)
    e.backend.dispatch(adding(), [A, B])
    assert e.ports[0].arguments[0][3:] == (5, 5, 5)


# ── memory ──


def test_memory_that_the_host_does_not_fill_is_zero_in_every_dispatch(engine: Engine) -> None:
    with program("memory", 1) as p:
        p.write("out", u32, 3)
        p.scratch("s", u32, 2)
        p.persistent("k", u32, 1)
    seen = []

    def spoil(x: Any) -> None:
        seen.append({name: array.tolist() for name, array in x.items()})
        for array in x.values():
            array[:] = 9

    e, source = engine(spoil), p.build()
    assert e.backend.dispatch(source, []) == e.backend.dispatch(source, []) == [np.full(3, 9, np.uint32).tobytes()]
    assert seen == [{"out": [0, 0, 0], "s": [0, 0], "k": [0]}] * 2


def test_read_write_buffers_start_as_the_input(engine: Engine) -> None:
    with program("inplace", 4) as p:
        p.read_write("x", i32)

    def negate(x: Any) -> None:
        x["x"][:] = -x["x"]

    e = engine(negate)
    given = np.array([1, -2, 3], np.int32)
    assert e.backend.dispatch(p.build(), [given]) == [(-given).tobytes()]
    assert given.tolist() == [1, -2, 3]
    assert counts(e.backend, "fills") == (0,)


def test_only_the_output_range_is_read_back(engine: Engine) -> None:
    with program("range", 4) as p:
        p.write("out", u8, 10, output_range=(2, 5))

    def count(x: Any) -> None:
        x["out"][:] = np.arange(10)

    e = engine(count)
    assert e.backend.dispatch(p.build(), []) == [b"\2\3\4"]
    assert counts(e.backend, "bytes_out") == (3,)


def test_zero_length_buffers_are_bound_and_never_copied(engine: Engine) -> None:
    with program("empty", 4) as p:
        p.read("a", u32)
        p.write("none", u32, 0)
        p.write("out", u32, 1)

    e = engine(lambda x: None)
    assert e.backend.dispatch(p.build(), [b""]) == [b"", bytes(4)]
    assert counts(e.backend, "allocations", "bytes_allocated", "copies_in", "fills", "copies_out") == (3, 6, 0, 1, 1)


@pytest.mark.parametrize("config", [DispatchConfig(), DispatchConfig(grid_override=(4, 0, 1))])
def test_an_empty_grid_needs_no_device_memory(engine: Engine, config: DispatchConfig) -> None:
    with program("nothing", 4) as p:
        p.read_write("x", u8, output_range=(0, 0) if config == DispatchConfig() else (1, 3))
        p.write("out", u8, 0 if config == DispatchConfig() else 2)
    e = engine()
    given = b"" if config == DispatchConfig() else b"1234"
    expected = [b"", b""] if config == DispatchConfig() else [b"23", b"\0\0"]
    assert e.backend.dispatch(p.build(), [given], config) == expected
    assert counts(e.backend, "launches", "allocations", "compiles", "dispatches") == (0, 0, 0, 1)


# ── configuration ──


def test_overrides_reach_the_launch(engine: Engine) -> None:
    seen = []
    e = engine()
    e.backend.prepare()
    e.ports[0].evaluate = lambda plan, memory: seen.append((plan.program.workgroup_size, plan.grid))
    e.backend.dispatch(adding(), [A, B], DispatchConfig(workgroup_override=(2, 3, 1), grid_override=(4, 5, 6)))
    assert seen == [((2, 3, 1), (4, 5, 6))]


def test_fixpoint_iterations_run_over_the_same_memory(engine: Engine) -> None:
    with program("doubling", 4) as p:
        p.read_write("x", u32)
        p.scratch("rounds", u32, 1)
        p.write("out", u32, 1)

    def double(x: Any) -> None:
        x["x"][:] *= 2
        x["rounds"][:] += 1
        x["out"][:] += x["rounds"]

    e = engine(double)
    outputs = e.backend.dispatch(p.build(), [A], DispatchConfig(fixpoint_iterations=3))
    assert outputs == [(8 * A).tobytes(), np.uint32(1 + 2 + 3).tobytes()]
    assert counts(e.backend, "launches", "fills", "copies_in") == (3, 2, 1)


def test_every_ulp_budget_has_code_of_its_own(engine: Engine) -> None:
    e, source = engine(add), adding()
    for budget in (0, 4, 0, 4):
        e.backend.dispatch(source, [A, B], DispatchConfig(ulp_budget=budget))
    assert counts(e.backend, "compiles") == (2,)


def test_an_indirect_grid_is_read_from_the_host_bytes(engine: Engine) -> None:
    with program("indirect", 4) as p:
        words = p.read("words", u32)
        p.indirect_dispatch(words, 1)
        p.write("out", u32, 1)
    grids = []
    e, source = engine(), p.build()
    e.backend.prepare()
    e.ports[0].evaluate = lambda plan, memory: grids.append(plan.grid)
    for grid in [(2, 3, 4), (1, 1, 1), (2, 3, 4), (0, 3, 4)]:
        e.backend.dispatch(source, [np.array([9, *grid], np.uint32)])
    assert grids == [(2, 3, 4), (1, 1, 1), (2, 3, 4)]  # the last one has no workgroups
    with pytest.raises(InvalidInput, match="argument 'words'"):
        e.backend.dispatch(source, [np.zeros(3, np.uint32)])
    assert e.backend.dispatch(source, [b""], DispatchConfig(grid_override=(1, 1, 1))) == [bytes(4)]


# ── time ──


def test_timing(engine: Engine) -> None:
    e, source = engine(add), adding()
    timed = e.backend.dispatch_borrowed_timed(source, [A, B], DispatchConfig(fixpoint_iterations=3))
    assert timed.outputs == [SUM]
    assert timed.device_ns == 3 * ELAPSED_NS
    assert timed.enqueue_ns + timed.wait_ns == timed.wall_ns
    assert e.ports[0].count("wait") == 1


def test_a_device_without_a_clock(engine: Engine) -> None:
    e = engine(add)
    e.backend.prepare()
    e.ports[0].elapsed_ns = None
    assert e.backend.dispatch_borrowed_timed(adding(), [A, B]).device_ns is None


def test_a_program_that_gives_nothing_back_is_waited_for(engine: Engine) -> None:
    with program("silent", 4) as p:
        p.read("a", u32)
    e = engine()
    assert e.backend.dispatch(p.build(), [A]) == []
    assert e.ports[0].log[-2:] == ["launch", "wait"]


# ── admission ──

LITTLE = DeviceProfile(backend="little", max_workgroup_size=(4, 4, 4), max_invocations_per_workgroup=4)
SPELLED = generous_target()
NARROW = {
    "spelled": type(SPELLED)(
        name="narrow",
        ops=SPELLED.ops,
        arithmetic=frozenset((bool_, u32, i32, f32)),
        atomics=frozenset((AtomicOp.ADD, t) for t in (u32, i32)),
    ),
    "profile": LITTLE,
}


def test_everything_that_is_missing_is_said_at_once(engine: Engine) -> None:
    with program("greedy", 8) as p:
        p.read("d", f64)
        n = p.read_write("n", u64)
        p.read("m", i64)
        n.atomic_add(0, 1)
    e = engine(**NARROW)
    config = DispatchConfig(speculation=Preference.FORCE, persistent_thread=Preference.FORCE, cooperative=True)
    with pytest.raises(UnsupportedFeature) as caught:
        e.backend.dispatch(p.build(), [b"", bytes(8), b""], config)
    assert str(caught.value) == (
        "fake does not support f64; 64-bit integers; 64-bit atomics; speculation; persistent threads; "
        "cooperative launches; a workgroup size of 8 on x (at most 4); 8 invocations in a workgroup (at most 4). "
        "Fix: stay within the limits (larger workgroups make a grid smaller), or choose another backend"
    )
    assert e.ports[0].log == ["probe", "target"]


def test_preferences_that_demand_nothing_are_admitted(engine: Engine) -> None:
    e = engine(add)
    config = DispatchConfig(speculation=Preference.DISABLE, persistent_thread=Preference.DISABLE)
    assert e.backend.dispatch(adding(), [A, B], config) == [SUM]


def test_memory_is_compared_before_anything_is_allocated(engine: Engine) -> None:
    import dataclasses

    e = engine(add, profile=dataclasses.replace(generous_profile(), global_memory_bytes=59))
    with pytest.raises(DeviceOutOfMemory, match="program 'adding': the device is out of memory: 60 bytes are needed"):
        e.backend.dispatch(adding(), [A, B])
    assert e.ports[0].count("allocate") == 0


@pytest.mark.parametrize(
    ("inputs", "buffer"),
    [([A], "b"), ([A, B, B], "number 2"), ([A, b"123"], "b"), ([3, B], "a"), ([A[::2], B], "a")],
    ids=str,
)
def test_wrong_buffers_are_named_before_the_device_is_touched(engine: Engine, inputs: Any, buffer: str) -> None:
    e = engine(add)
    with pytest.raises(InvalidInput) as caught:
        e.backend.dispatch(adding(), inputs)
    assert caught.value.buffer == buffer
    assert all(port.log == ["probe", "target"] for port in e.ports)


OBJECTS = np.array([None] * 3)


@pytest.mark.parametrize("references", [OBJECTS[:2], memoryview(OBJECTS)[:2]], ids=["array", "view"])
def test_references_to_objects_are_no_bytes_after_a_dispatch_of_the_same_sizes(engine: Engine, references: Any) -> None:
    """Their addresses would be the data of the dispatch."""
    e, a = engine(add), np.arange(4, dtype=np.uint32)
    for _ in range(2):
        e.backend.dispatch(adding(), [a, a])
    with pytest.raises(InvalidInput, match="got references to Python objects"):
        e.backend.dispatch(adding(), [a, references])


def test_the_output_budget(engine: Engine) -> None:
    e = engine(add)
    with pytest.raises(OutputLimitExceeded):
        e.backend.dispatch(adding(), [A, B], DispatchConfig(max_output_bytes=19))
    assert e.backend.dispatch(adding(), [A, B], DispatchConfig(max_output_bytes=20)) == [SUM]


def test_an_invalid_program(engine: Engine) -> None:
    p = program("invalid", 0)
    e = engine()
    with pytest.raises(InvalidProgram):
        e.backend.dispatch(p.build_unchecked(), [])
    assert counts(e.backend, "failures", "dispatches") == (1, 0)


# ── capabilities ──


def test_capabilities_are_what_the_probe_said_and_the_target_spells(engine: Engine) -> None:
    """The target has no grid barrier, whatever the device has."""
    import dataclasses

    profile = dataclasses.replace(
        generous_profile(), supports_f16=True, subgroup_size=16, max_workgroups=(9, 8, 7), supports_grid_sync=True
    )
    backend = engine(profile=profile).backend
    known = dataclasses.replace(profile, supports_grid_sync=False, folds_grids=True)
    assert backend.device_profile() == known
    assert (backend.supports_f16(), backend.supports_bf16(), backend.supports_grid_sync()) == (True, True, False)
    assert (backend.supports_subgroup_ops(), backend.supports_tensor_cores()) == (False, False)
    assert (backend.supports_async_compute(), backend.supports_indirect_dispatch()) == (False, False)
    assert (backend.subgroup_size(), backend.max_workgroup_size()) == (16, (1024, 1024, 64))
    assert backend.max_compute_workgroups_per_dimension() == 7
    assert backend.max_compute_invocations_per_workgroup() == 1024
    assert backend.max_storage_buffer_bytes() == 0


def test_a_device_without_a_limit_of_workgroups_has_that_of_ids(engine: Engine) -> None:
    assert engine().backend.max_compute_workgroups_per_dimension() == 2**32 - 1


def test_arrays_reach_the_port_as_bytes_every_time(engine: Engine) -> None:
    """The second dispatch of the same looks checks less, and converts as the first did."""

    def double(x: Any) -> None:
        x["out"][:] = x["x"] * np.float32(2)

    with program("doubling", 4) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 2
    one, made = engine(double), p.build()
    for n in range(3):
        array = np.arange(6, dtype=np.float32) + n
        assert (one.backend.dispatch_arrays(made, {"x": array})["out"] == array * 2).all()
