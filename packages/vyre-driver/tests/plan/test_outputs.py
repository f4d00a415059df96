"""Layouts of outputs: whole buffers, declared ranges, and the budget."""

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import InvalidInput, InvalidLaunch, OutputLimitExceeded
from vyre_driver.plan.launch import infer_dispatch_grid_for_count
from vyre_driver.plan.outputs import (
    OutputBindingLayout,
    enforce_actual_output_budget,
    output_binding_layout,
    output_binding_layouts,
    output_layout_from_program,
)
from vyre_foundation import parse

PROGRAM = parse(
    "program p workgroup(4, 2, 1) { read a: u32[] @0; write out: u32[len(a)] @1; read_write b: u8[] @2 bytes(1, 3); }"
)


def test_outputs_are_in_binding_order() -> None:
    layouts = output_binding_layouts(PROGRAM, {"a": 5, "out": 5, "b": 3})
    assert layouts == (OutputBindingLayout("out", 0, 20, 1), OutputBindingLayout("b", 1, 3, 2))
    assert [layout.size for layout in layouts] == [20, 2]


def test_a_range_beyond_the_buffer_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got 2 bytes, expected at least the 3 bytes of its output range"):
        output_binding_layout(PROGRAM.buffer("b"), 2)


def test_the_budget_is_for_all_outputs_together() -> None:
    layouts = output_binding_layouts(PROGRAM, {"a": 5, "out": 5, "b": 3})
    enforce_actual_output_budget(DispatchConfig(max_output_bytes=22), layouts)
    enforce_actual_output_budget(DispatchConfig(), layouts)
    with pytest.raises(OutputLimitExceeded):
        enforce_actual_output_budget(DispatchConfig(max_output_bytes=21), layouts)


@pytest.mark.parametrize(("count", "groups"), [(0, 0), (1, 1), (8, 1), (9, 2), (2**32 - 1, 2**29)])
def test_a_grid_has_an_invocation_for_each_element(count: int, groups: int) -> None:
    assert infer_dispatch_grid_for_count(count, (4, 2, 1)) == (groups, 1, 1)


def test_an_output_has_its_binding_and_whole_words() -> None:
    layouts = output_binding_layouts(PROGRAM, {"a": 5, "out": 5, "b": 3})
    assert [(out.binding, out.word_count) for out in layouts] == [(1, 5), (2, 1)]


def test_the_only_output() -> None:
    with pytest.raises(InvalidLaunch, match=r"got 2 \(out, b\), expected a program with one output"):
        output_layout_from_program(PROGRAM, {"a": 5, "out": 5, "b": 3})
    single = parse("program p workgroup(4, 1, 1) { write out: u16[3] @0; }")
    assert output_layout_from_program(single, {"out": 3}) == OutputBindingLayout("out", 0, 6, 0)
