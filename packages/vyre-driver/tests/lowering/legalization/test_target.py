"""What is spelled is what is supported: targets come from dialects, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.codegen.dialect import SourceText
from vyre_driver.codegen.operators import c_casts, c_operators
from vyre_driver.legalization.target import Groups, SubgroupCaps
from vyre_driver.testing.target import generous_target
from vyre_foundation.dtype import bool_, f32, i32, u8, u32, u64
from vyre_foundation.ir.stmt import AtomicOp, Scope, SubgroupOp


def test_a_target_has_exactly_what_the_dialect_spells(dialects):
    full, target = dialects["full"], dialects["full"].target()
    assert target.ops == frozenset(full.ops)
    assert target.casts == frozenset(full.casts)
    assert target.bitcasts == frozenset(full.bitcasts)
    assert target.atomics == frozenset(full.atomics)
    assert target.arithmetic == frozenset(full.literals)
    assert target.spells("add", u32)
    assert not target.spells("add", i32)


def test_bool_is_never_in_memory(dialects):
    assert bool_ in dialects["full"].types
    assert bool_ not in dialects["full"].target().memory
    assert u8 in dialects["full"].target().memory


def test_words_become_capabilities(dialects):
    full = dialects["full"]
    more = replace(
        full,
        barriers={**full.barriers, Scope.GRID: "grid_barrier();"},
        calls={("math.exp", f32): "exp({0})"},
        subgroups={(SubgroupOp.ANY, bool_): "any({0})"},
        subgroup_sizes=frozenset((32,)),
        groups=Groups.LOOPS,
        wide_indices=True,
        atomics={(AtomicOp.ADD, u64): "add({0}, {1})"},
    ).target()
    assert more.grid_barrier
    assert not full.target().grid_barrier
    assert more.calls == {("math.exp", f32)}
    assert more.subgroup_ops == {(SubgroupOp.ANY, bool_)}
    assert more.subgroup_sizes == {32}
    assert more.groups is Groups.LOOPS
    assert more.wide_indices
    assert more.atomics == {(AtomicOp.ADD, u64)}


def test_operators_of_c_leave_out_what_c_leaves_open():
    rows = c_operators((u32, i32, f32))
    assert ("add", u32) in rows
    assert ("add", i32) not in rows  # may overflow
    assert ("raw_shl", i32) not in rows  # of a negative value
    assert ("div", u32) not in rows  # by zero
    assert ("min", f32) not in rows  # with NaN
    assert rows["raw_div", i32] == "({0} / {1})"
    assert rows["neg", f32] == "(-{0})"


def test_casts_of_c_are_between_different_types():
    assert c_casts({u32: "uint", f32: "float"}) == {(u32, f32): "((float){0})", (f32, u32): "((uint){0})"}


def test_places_of_lines_are_counted_from_one():
    text = SourceText("a\nb\n", ("main",), ("", "main body[0]"))
    assert text.place(2) == "main body[0]"
    assert text.place(0) == text.place(3) == ""


def test_collectives_are_native_for_an_op_a_type_and_a_size() -> None:
    caps = SubgroupCaps(frozenset((16, 32)), frozenset([(SubgroupOp.REDUCE_ADD, u32)]))
    assert caps.is_usable
    assert caps.has(SubgroupOp.REDUCE_ADD, u32, 16)
    assert not caps.has(SubgroupOp.REDUCE_ADD, u32, 8)
    assert not caps.has(SubgroupOp.REDUCE_ADD, f32, 16)
    assert not caps.has(SubgroupOp.REDUCE_MIN, u32, 16)
    assert not SubgroupCaps(frozenset((16,)), frozenset()).is_usable
    assert generous_target().subgroups == SubgroupCaps(frozenset(), frozenset())
