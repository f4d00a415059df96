"""One launch from arrays to arrays, and the refusals before it."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import InvalidInput
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u32
from vyre_reference import scalar, vector
from vyre_reference.launch import host_memory


def doubled():
    with program("double", 4) as p:
        a = p.read_write("a", f32)
        out = p.write("out", f32, like=a)
        i = p.global_id(0)
        out[i] = a[i] * 2
        a[i] = a[i] + 1
    return p.build()


def test_inputs_stay_as_they_are(run):
    a = np.arange(6, dtype=np.float32)
    a.flags.writeable = False
    got = run(doubled(), {"a": a})
    assert got["out"].tolist() == [0, 2, 4, 6, 8, 10]
    assert got["a"].tolist() == [1, 2, 3, 4, 5, 6]
    assert a.tolist() == [0, 1, 2, 3, 4, 5]


def test_iterations_run_over_the_same_memory(run):
    """Scratch keeps its contents, workgroup memory does not, write-only outputs are zeroed once."""
    with program("again", 2) as p:
        total = p.read_write("total", u32, 2)
        scratch, shared = p.scratch("scratch", u32, 2), p.workgroup("shared", u32, 2)
        out = p.write("out", u32, 4)
        i = p.global_id(0)
        scratch[i] = scratch[i] + 1
        shared[i] = shared[i] + 1
        total[i] = total[i] + scratch[i] * 10 + shared[i]
        out[scratch[i]] = 5
    config = DispatchConfig(grid_override=(1, 1, 1), fixpoint_iterations=3)
    got = run(p.build_unchecked(), {"total": np.zeros(2, np.uint32)}, config)
    assert got["total"].tolist() == [63, 63]
    assert got["out"].tolist() == [0, 5, 5, 5]


def test_a_range_of_an_output(run):
    with program("range", 4) as p:
        out = p.write("out", u32, 8, output_range=(8, 20))
        out[p.global_id(0)] = p.global_id(0)
    assert run(p.build(), {})["out"].tolist() == [2, 3, 4]


def test_the_grid_of_an_indirect_dispatch(run):
    with program("indirect", 2) as p:
        words = p.read("words", u32)
        p.indirect_dispatch(words, 1)
        out = p.write("out", u32, 16)
        x, y = p.global_id(0), p.global_id(1)
        out[y * 8 + x] = p.num_workgroups(0) * 10 + p.num_workgroups(1)
    got = run(p.build(), {"words": np.array([9, 3, 2, 1], np.uint32)})["out"]
    assert got.tolist() == [32] * 6 + [0] * 2 + [32] * 6 + [0] * 2
    with pytest.raises(InvalidInput, match="three u32 words of the grid"):
        run(p.build(), {"words": np.array([9, 3, 2], np.uint32)})


def test_workgroup_override(run):
    with program("override", 4) as p:
        out = p.write("out", u32, 6)
        out[p.global_id(0)] = p.workgroup_id(0)
    assert run(p.build(), {}, DispatchConfig(workgroup_override=(2, 1, 1)))["out"].tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("evaluate", [scalar.evaluate, vector.evaluate], ids=["scalar", "vector"])
def test_memory_that_does_not_fit_the_plan(evaluate):
    plan = plan_launch(doubled(), [16])
    good = host_memory(plan, [memoryview(bytes(16))], {})
    with pytest.raises(InvalidInput, match=r"^argument 'out': got 15 bytes, expected 16 bytes"):
        evaluate(plan, {**good, "out": bytearray(15)})
    with pytest.raises(InvalidInput, match=r"^argument 'a': got nothing, expected 16 bytes"):
        evaluate(plan, {"out": bytearray(16)})
    with pytest.raises(InvalidInput, match="got read-only memory, expected memory that can be written"):
        evaluate(plan, {**good, "a": bytes(16)})


def test_persistent_memory_is_kept_by_the_caller():
    with program("keep", 1) as p:
        kept = p.persistent("kept", u32, 2)
        kept[0] = kept[0] + 1
    plan, memory = plan_launch(p.build(), []), {}
    for _ in range(3):
        vector.evaluate(plan, host_memory(plan, [], memory))
    assert bytes(memory["kept"]) == bytes([3, 0, 0, 0, 0, 0, 0, 0])
    with pytest.raises(InvalidInput, match="as in the pipeline's first dispatch"):
        host_memory(plan, [], {"kept": bytearray(4)})


@pytest.mark.parametrize("output_range", [(0, 3), (1, 4), (2, 2)])
def test_a_range_of_an_output_that_cuts_an_element(run, output_range):
    with program("cut", 4) as p:
        out = p.write("out", u32, 8, output_range=output_range)
        out[p.global_id(0)] = p.global_id(0)
    with pytest.raises(InvalidInput, match=r"whole elements of u32.*Fix: dispatch bytes instead of arrays"):
        run(p.build(), {})
