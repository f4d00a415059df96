"""The grid, the lengths and the uniform values of a launch prove more than the program alone."""

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.device.profile import Extent
from vyre_driver.plan.determinism import launch_determinism
from vyre_driver.plan.launch import plan_launch
from vyre_foundation import parse

DECLARED = "uniform n: u32[2] @0; read a: u32[] @1; read_write out: u32[] @2;"


def verdict(body: str, grid: Extent, n: tuple[int, int], lengths: tuple[int, int] = (48, 48)) -> bool:
    """For a workgroup of 4 · 2 invocations."""
    program = parse(f"program p workgroup(4, 2, 1) {{ {DECLARED} {body} }}")
    inputs = [memoryview(b"".join(x.to_bytes(4, "little") for x in n)), *(memoryview(bytes(4 * n)) for n in lengths)]
    plan = plan_launch(program, [data.nbytes for data in inputs], DispatchConfig(grid_override=grid))
    assert not plan.facts.determinism.is_deterministic
    return launch_determinism(plan, inputs).is_deterministic


ROWS = "out[global_id.y * n[0] + global_id.x] = 1;"


@pytest.mark.parametrize(
    ("grid", "n", "proven"),
    [
        ((2, 3, 1), (8, 0), True),
        ((2, 3, 1), (9, 0), True),
        ((2, 3, 1), (7, 0), False),
        ((3, 3, 1), (8, 0), False),
        ((3, 3, 1), (12, 0), True),
        ((2, 3, 1), (0, 0), False),
        ((2, 3, 1), (2**31, 0), False),
        ((2, 1, 1), (2**31, 0), True),
    ],
)
def test_rows_as_wide_as_the_launch_says(grid: Extent, n: tuple[int, int], proven: bool) -> None:
    assert verdict(ROWS, grid, n) is proven


@pytest.mark.parametrize(
    ("body", "n", "proven"),
    [
        ("if global_id.x < n[1] { out[global_id.y * n[0] + global_id.x] = 1; }", (4, 4), True),
        ("if global_id.x < n[1] { out[global_id.y * n[0] + global_id.x] = 1; }", (3, 4), False),
        ("for k in 0..n[1] { if global_id.y < 1 { out[global_id.x * n[0] + k] = 1; } }", (6, 6), True),
        ("for k in 0..n[1] { if global_id.y < 1 { out[global_id.x * n[0] + k] = 1; } }", (6, 7), False),
        ("out[global_id.y * (len(a) / 6) + global_id.x] = 1;", (0, 0), True),
        ("out[global_id.y * (len(a) / 7) + global_id.x] = 1;", (0, 0), False),
        ("out[global_id.y * n[2] + global_id.x] = 1;", (8, 8), False),
        ("out[global_id.y * a[0] + global_id.x] = 1;", (8, 8), False),
        ("out[global_id.y * n[a[0]] + global_id.x] = 1;", (8, 8), False),
    ],
)
def test_values_and_lengths(body: str, n: tuple[int, int], proven: bool) -> None:
    assert verdict(body, (2, 3, 1), n) is proven


def test_what_is_proven_of_all_launches_needs_no_values() -> None:
    program = parse(f"program p workgroup(4, 1, 1) {{ {DECLARED} out[global_id.x] = n[0]; }}")
    inputs = [memoryview(bytes(8)), memoryview(b""), memoryview(bytes(16))]
    plan = plan_launch(program, [data.nbytes for data in inputs])
    assert launch_determinism(plan, inputs) is plan.facts.determinism
