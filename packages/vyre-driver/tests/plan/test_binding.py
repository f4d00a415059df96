"""Roles, order and sizes of what is bound, and which programs are bound alike."""

import pytest

from vyre_driver.errors import InvalidInput
from vyre_driver.plan.binding import (
    BackendLayoutClass,
    BackendLayoutSlot,
    BindingPlan,
    BindingRole,
    binding_plans_share_layout,
    dispatch_element_count,
    dispatch_element_count_for_program,
    element_size_bytes,
)
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.build import program
from vyre_foundation.dtype import DTYPES, u8, u16, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse


@pytest.fixture(scope="module")
def all_roles() -> Program:
    p = program("p", 8)
    p.read("r", u16)
    p.uniform("u", u32, 1)
    p.scratch("s", u8, 7)
    p.write("w", u64, 4)
    p.read_write("rw", u32)
    p.persistent("k", u32, 2)
    p.workgroup("g", u32, 16)
    p.private("own", u32, 3)
    p.constant("table", u8, [1, 2])
    return p.build()


def test_roles_in_binding_order_and_what_is_shared_behind(all_roles: Program) -> None:
    plan = BindingPlan.of(all_roles)
    assert [(b.name, b.binding, b.role) for b in plan.bindings] == [
        ("r", 0, BindingRole.INPUT),
        ("u", 1, BindingRole.UNIFORM),
        ("s", 2, BindingRole.SCRATCH),
        ("w", 3, BindingRole.OUTPUT),
        ("rw", 4, BindingRole.INPUT_OUTPUT),
        ("k", 5, BindingRole.PERSISTENT),
        ("g", None, BindingRole.SHARED),
    ]
    assert [(b.name, b.input) for b in plan.inputs] == [("r", 0), ("u", 1), ("rw", 2)]
    assert [(b.name, b.output) for b in plan.outputs] == [("w", 0), ("rw", 1)]
    assert [b.name for b in plan.shared] == ["g"]
    assert [b.role.takes_input for b in plan.bindings] == [b.input is not None for b in plan.bindings]
    assert [b.role.gives_output for b in plan.bindings] == [b.output is not None for b in plan.bindings]
    assert all(all_roles.buffers[b.index].name == b.name for b in plan.bindings)


def test_sizes_are_known_where_they_are_declared_or_given(all_roles: Program) -> None:
    open_ends = {b.name: b.byte_len for b in BindingPlan.of(all_roles).bindings}
    assert open_ends == {"r": None, "u": 4, "s": 7, "w": 32, "rw": None, "k": 8, "g": 64}
    given = BindingPlan.from_input_lengths(all_roles, [6, 4, 20])
    assert {b.name: b.element_count for b in given.inputs} == {"r": 3, "u": 1, "rw": 5}
    assert [b.alignment for b in given.inputs] == [2, 4, 4]
    with pytest.raises(InvalidInput, match="argument 'r': got 5 bytes"):
        BindingPlan.from_input_lengths(all_roles, [5, 4, 20])


def test_a_launch_knows_its_bindings(all_roles: Program) -> None:
    plan = plan_launch(all_roles, [6, 4, 20])
    assert tuple(b.name for b in plan.bindings.inputs) == plan.inputs
    assert tuple(b.name for b in plan.bindings.outputs) == tuple(out.buffer for out in plan.outputs)
    assert {b.name: b.element_count for b in plan.bindings.bindings} == {
        name: plan.lengths[name] for name in ("r", "u", "s", "w", "rw", "k", "g")
    }


def test_layouts_tell_uniforms_and_what_is_only_read(all_roles: Program) -> None:
    storage, uniform = BackendLayoutClass.STORAGE, BackendLayoutClass.UNIFORM
    assert BindingPlan.of(all_roles).layout().slots == (
        BackendLayoutSlot(0, storage, True, 2),
        BackendLayoutSlot(1, uniform, True, 4),
        BackendLayoutSlot(2, storage, False, 1),
        BackendLayoutSlot(3, storage, False, 8),
        BackendLayoutSlot(4, storage, False, 4),
        BackendLayoutSlot(5, storage, False, 4),
    )


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        ("program q workgroup(1, 1, 1) { write o: u32[len(i)] @1; read i: u32[] @0; }", True),
        ("program q workgroup(1, 1, 1) { read i: f32[7] @0; write o: u32[7] @1; }", True),
        ("program q workgroup(1, 1, 1) { read i: u8[] @0; write o: u32[len(i)] @1; }", False),
        ("program q workgroup(1, 1, 1) { read i: u32[] @0; read_write o: u32[len(i)] @1; }", False),
        ("program q workgroup(1, 1, 1) { read i: u32[] @0; }", False),
    ],
)
def test_programs_share_a_layout_by_binding_role_and_size(other: str, shared: bool) -> None:
    first = BindingPlan.of(parse("program p workgroup(4, 1, 1) { read a: u32[] @0; write b: u32[len(a)] @1; }"))
    second = BindingPlan.of(parse(other))
    assert binding_plans_share_layout(first, second) is shared
    assert (first.fingerprint().digest() == second.fingerprint().digest()) is shared


def test_a_launch_covers_its_longest_output(all_roles: Program) -> None:
    assert dispatch_element_count(BindingPlan.from_input_lengths(all_roles, [2000, 4, 20])) == 5
    assert dispatch_element_count_for_program(all_roles, {"w": 4, "rw": 0}) == 4
    without = parse("program p workgroup(4, 1, 1) { read a: u32[] @0; }")
    assert dispatch_element_count_for_program(without, {"a": 1000}) == 1


def test_elements_have_the_size_of_their_type() -> None:
    assert {dtype.name: element_size_bytes(dtype) for dtype in DTYPES}["u64"] == 8
    assert all(element_size_bytes(dtype) == max(1, dtype.bits // 8) for dtype in DTYPES)
