"""`plan_launch`: grid, order, outputs, overrides, limits."""

import pytest

from vyre_driver.backend.config import DispatchConfig, Extent
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import (
    DeviceOutOfMemory,
    InvalidInput,
    InvalidLaunch,
    InvalidProgram,
    OutputLimitExceeded,
    UnsupportedFeature,
)
from vyre_driver.plan.indirect import find_indirect_dispatch, read_indirect_grid
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.outputs import OutputBindingLayout
from vyre_foundation.build import program
from vyre_foundation.dtype import u8, u32
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import IndirectDispatch


def elementwise(workgroup_size: int | Extent = 64) -> Program:
    with program("elementwise", workgroup_size) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)]
    return p.build()


# fmt: off
GRIDS = [
    (64,          0,    (0, 1, 1)),
    (64,          1,    (1, 1, 1)),
    (64,          64,   (1, 1, 1)),
    (64,          65,   (2, 1, 1)),
    ((4, 4, 4),   64,   (1, 1, 1)),
    ((4, 4, 4),   65,   (2, 1, 1)),
    ((1, 1, 1),   1000, (1000, 1, 1)),
]
# fmt: on


@pytest.mark.parametrize(("workgroup_size", "elements", "grid"), GRIDS)
def test_the_inferred_grid(workgroup_size: int | Extent, elements: int, grid: Extent) -> None:
    assert plan_launch(elementwise(workgroup_size), [4 * elements]).grid == grid


def test_the_longest_output_decides() -> None:
    p = program("p", 8)
    p.read("a", u8)
    p.write("short", u8, 8)
    p.read_write("long", u8)
    p.scratch("longer", u8, 1000)
    assert plan_launch(p.build(), [100, 17]).grid == (3, 1, 1)


def test_a_program_without_outputs_has_one_workgroup() -> None:
    p = program("p", 8)
    p.read("a", u8)
    assert plan_launch(p.build(), [100]).grid == (1, 1, 1)


def test_order_and_ranges_of_inputs_and_outputs() -> None:
    p = program("p", 8)
    p.write("w", u32, 4, output_range=(4, 12))
    p.read("r", u32)
    p.uniform("u", u32, 1)
    p.scratch("s", u32, 1)
    p.read_write("rw", u32)
    plan = plan_launch(p.build(), [8, 4, 12])
    assert plan.inputs == ("r", "u", "rw")
    assert plan.outputs == (OutputBindingLayout("w", 4, 12, 0), OutputBindingLayout("rw", 0, 12, 4))
    assert [output.size for output in plan.outputs] == [8, 12]
    assert plan.byte_length("w") == 16
    assert plan.num_workgroups == 1


def test_an_output_range_must_be_there() -> None:
    p = program("p", 8)
    p.read_write("rw", u32, output_range=(4, 12))
    with pytest.raises(InvalidInput, match="argument 'rw': got 8 bytes, expected at least the 12 bytes of its output"):
        plan_launch(p.build(), [8])


def test_overrides() -> None:
    config = DispatchConfig(workgroup_override=(8, 2, 1), fixpoint_iterations=5)
    plan = plan_launch(elementwise(), [4 * 33], config)
    assert plan.program.workgroup_size == (8, 2, 1)
    assert plan.facts.program is plan.program
    assert (plan.grid, plan.repeats) == ((3, 1, 1), 5)
    assert plan_launch(elementwise(), [4], config.replace(grid_override=(0, 7, 9))).grid == (0, 7, 9)


def test_an_override_that_changes_nothing_keeps_the_program() -> None:
    source = elementwise()
    assert plan_launch(source, [4], DispatchConfig(workgroup_override=(64, 1, 1))).program is source


def test_an_override_may_make_the_program_invalid() -> None:
    p = program("p", 32, subgroup_size=32)
    p.read_write("a", u32)
    with pytest.raises(InvalidProgram) as caught:
        plan_launch(p.build(), [4], DispatchConfig(workgroup_override=(48, 1, 1)))
    assert caught.value.findings
    assert str(caught.value).startswith("program 'p': not valid, 1 finding")


@pytest.mark.parametrize("grid", [(2**27, 1, 1), (1, 2**32 - 1, 2)])
def test_ids_are_u32(grid: Extent) -> None:
    with pytest.raises(InvalidLaunch, match=r"grid: got .* expected at most 4294967296 invocations"):
        plan_launch(elementwise(), [4], DispatchConfig(grid_override=grid))


def test_the_largest_launch_and_one_that_does_not_run() -> None:
    assert plan_launch(elementwise(), [4], DispatchConfig(grid_override=(2**26, 1, 1)))
    assert plan_launch(elementwise(), [4], DispatchConfig(grid_override=(2**32 - 1, 2**32 - 1, 0)))


def test_the_output_budget() -> None:
    assert plan_launch(elementwise(), [40], DispatchConfig(max_output_bytes=40))
    with pytest.raises(OutputLimitExceeded, match="the outputs take 40 bytes, max_output_bytes allows 39"):
        plan_launch(elementwise(), [40], DispatchConfig(max_output_bytes=39))


# ── indirect dispatch ──


def indirect(offset: int = 1) -> Program:
    with program("indirect", 4) as p:
        p.read("a", u8)
        words = p.read("words", u32)
        p.indirect_dispatch(words, offset)
        p.write("out", u32, 1)
    return p.build()


WORDS = b"".join(n.to_bytes(4, "little") for n in (9, 2, 3, 4))


def test_the_grid_of_an_indirect_dispatch() -> None:
    source = indirect()
    grid = read_indirect_grid(source, [memoryview(b""), memoryview(WORDS)])
    assert grid == (2, 3, 4)
    assert plan_launch(source, [0, 16], indirect_grid=grid).grid == (2, 3, 4)
    assert plan_launch(source, [0, 16], DispatchConfig(grid_override=(1, 1, 1)), indirect_grid=grid).grid == (1, 1, 1)
    assert isinstance(find_indirect_dispatch(source), IndirectDispatch)


def test_other_programs_have_none() -> None:
    assert read_indirect_grid(elementwise(), [memoryview(b"")]) is None
    assert find_indirect_dispatch(elementwise()) is None


def test_words_that_are_not_there() -> None:
    with pytest.raises(InvalidInput) as caught:
        read_indirect_grid(indirect(2), [memoryview(b""), memoryview(WORDS)])
    assert (caught.value.buffer, caught.value.got) == ("words", "16 bytes")
    assert caught.value.needed == "three u32 words of the grid at elements 2 … 4"


def test_a_plan_needs_the_words() -> None:
    with pytest.raises(InvalidInput, match="argument 'words': got a plan without them"):
        plan_launch(indirect(), [0, 16])


# ── a device's limits ──

SMALL = DeviceProfile(
    backend="small",
    max_workgroup_size=(32, 8, 1),
    max_invocations_per_workgroup=32,
    max_workgroups=(4, 4, 4),
    max_shared_memory_bytes=64,
    max_storage_buffer_binding_size=1024,
    global_memory_bytes=4096,
)


def test_what_fits() -> None:
    assert plan_launch(elementwise(32), [512], profile=SMALL)


def test_all_limits_are_named_at_once() -> None:
    with program("greedy", (64, 1, 2)) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        shared = p.workgroup("shared", u32, 17)
        shared[0] = a[0]
        out[0] = shared[0]
    with pytest.raises(UnsupportedFeature) as caught:
        plan_launch(p.build(), [4096], profile=SMALL)
    assert str(caught.value) == (
        "small does not support a workgroup size of 64 on x (at most 32); a workgroup size of 2 on z (at most 1); "
        "128 invocations in a workgroup (at most 32); 8 workgroups on x (at most 4); "
        "4096 bytes in buffer 'a' (at most 1024); 4096 bytes in buffer 'out' (at most 1024); "
        "68 bytes of workgroup memory (at most 64). "
        "Fix: stay within the limits (larger workgroups make a grid smaller), or choose another backend"
    )


def test_the_sum_of_the_buffers() -> None:
    p = program("p", 8)
    for n in range(5):
        p.read(f"a{n}", u8)
    assert plan_launch(p.build(), [1024] * 4 + [0], profile=SMALL)
    with pytest.raises(DeviceOutOfMemory, match="4097 bytes are needed, 4096 are available"):
        plan_launch(p.build(), [1024] * 4 + [1], profile=SMALL)


def test_unknown_limits_are_not_checked() -> None:
    unknown = DeviceProfile(backend="x", max_workgroup_size=(64, 1, 1), max_invocations_per_workgroup=64)
    assert plan_launch(elementwise(), [2**30], profile=unknown)


@pytest.mark.parametrize(
    ("grid", "most", "workers", "row", "launched"),
    [
        ((1, 1, 1), 64, 2, 1, 1),
        ((63, 1, 1), 64, 2, 1, 63),  # fewer than two for each of 16 rows of two workers
        ((100, 1, 1), 64, 2, 3, 34),
        ((65536, 1, 1), 16, 2, 16, 4096),
        ((64, 1024, 1), 64, 2, 64, 1),
        ((65, 1024, 1), 64, 2, 33, 2),  # and not 64 and 1
        ((65536, 1, 1), 16, 1024, 4, 16384),
        ((5, 0, 1), 64, 2, 1, 5),
        ((0, 1, 1), 64, 2, 1, 0),
    ],
)
def test_workgroups_in_a_row(grid: Extent, most: int, workers: int, row: int, launched: int) -> None:
    plan = plan_launch(elementwise(), [4], DispatchConfig(grid_override=grid))
    assert plan.workgroups_per_item(most, workers) == row
    assert plan.coarsened_grid(row) == (launched, *grid[1:])
