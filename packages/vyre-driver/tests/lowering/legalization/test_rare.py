"""Calls of rare ops: branches in place of selections, functions where compilers make vectors of branches, and for
workgroups as loops a branch for some invocations at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.lower import legalize
from vyre_driver.legalization.lowered import RARELY, joined
from vyre_foundation.build import Value, call, program
from vyre_foundation.dialects import Composition, register, unregister
from vyre_foundation.dtype import bool_, u32
from vyre_foundation.ir import expr as ir
from vyre_foundation.ir.stmt import Assign, For, If, Region, Store
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.ops import OPS

VALUES = [(k * 2654435761) % 2**32 for k in range(300)]


def slow(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    return ir.Apply(OPS["mul"], x, ir.Apply(OPS["xor"], y, ir.literal(u32, 0x55)))


def often(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """``x + y``, but for one x in 16 ``slow(x, y)``."""
    is_rare = ir.Apply(OPS["eq"], ir.Apply(OPS["and"], x, ir.literal(u32, 15)), ir.literal(u32, 3))
    return ir.Select(is_rare, ir.Call("rare.slow", u32, x, y), ir.Apply(OPS["add"], x, y))


TYPES = {(u32, u32): u32}
ROWS = (Composition("rare.often", TYPES, often), Composition("rare.slow", TYPES, slow, rare=True))


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(ROWS)
    yield
    unregister(row.id for row in ROWS)


@pytest.fixture(params=["full", "vectors", "loops", "loops with functions", "functions"])
def target_name(request, dialects, monkeypatch) -> str:
    for name, dialect in (("functions", "full"), ("loops with functions", "loops")):
        monkeypatch.setitem(
            dialects, name, replace(dialects[dialect], name=name, function="apart {type} {name}({parameters})")
        )
    return str(request.param)


def of(x: Value, y: Value | int) -> Value:
    return call("rare.often", x, y)


def plain(shape=64):
    with program("plain", shape) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = of(a[p.global_id(0)], 9)
    return p.build()


def guarded():
    with program("guarded", 64) as p:
        a, n = p.read("a", u32), p.uniform("n", u32, 1)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(i < n[0]):
            out[i] = of(a[i], of(a[i] + 3, i))
    return p.build()


def under_a_condition():
    with program("condition", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.let(p.global_id(0))
        best = p.var(0, u32)
        with p.if_((a[i] & 1) == 0):
            best.set(of(a[i] >> 1, i))
        with p.else_():
            best.set(of(a[i], 4) ^ of(a[i], 5))
        out[i] = best
    return p.build()


def in_a_loop():
    with program("loop", 64) as p:
        a, n = p.read("a", u32), p.uniform("n", u32, 1)
        total = p.var(0, u32)
        with p.range(n[0] & 7) as k:
            total.set(of(total, a[p.global_id(0)] + k))
        p.write("out", u32, like=a)[p.global_id(0)] = total
    return p.build()


def in_a_loop_with_an_end():
    with program("ended", 64) as p:
        a = p.read("a", u32)
        x = p.var(a[p.global_id(0)], u32)
        with p.range(of(x, 2) & 31):
            with p.if_((of(x, 1) & 7) == 5):
                p.break_()
            x.set((x >> 1) ^ 0x1234567)
        p.write("out", u32, like=a)[p.global_id(0)] = x
    return p.build()


def behind_a_return():
    with program("left", 64) as p:
        a = p.read("a", u32)
        out, i = p.write("out", u32, like=a), p.global_id(0)
        with p.if_((a[i] & 3) == 0):
            p.return_()
        out[i] = of(a[i], 7)
    return p.build()


def with_memory_of_the_workgroup():
    with program("shared", 32) as p:
        a = p.read("a", u32)
        room = p.workgroup("room", u32, 32)
        i, l = p.global_id(0), p.local_id(0)
        room[l] = of(a[i], l)
        p.barrier()
        p.write("out", u32, like=a)[i] = of(room[31 - l], room[l])
    return p.build()


def in_place():
    with program("in_place", 64) as p:
        a = p.read_write("a", u32)
        i = p.global_id(0)
        a[i] = of(a[i], 1)
        a[i] = of(a[i], a[i])
    return p.build()


def of_the_workgroup():
    with program("uniform", 64) as p:
        a, n = p.read("a", u32), p.uniform("n", u32, 1)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)] + of(n[0], 2)
    return p.build()


def alone():
    with program("alone", 64) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = call("rare.slow", a[p.global_id(0)], 2)
    return p.build()


PROGRAMS = (
    plain, guarded, under_a_condition, in_a_loop, in_a_loop_with_an_end, behind_a_return, with_memory_of_the_workgroup,
    in_place, of_the_workgroup, alone,
)  # fmt: skip


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 300])
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_programs_give_what_they_gave(make, length, target_name, case, check):
    built = make()
    inputs = {"a": VALUES[:length], "n": [max(length - 2, 0)]}
    check(case(built, {b.name: inputs[b.name] for b in built.inputs}), target_name)


@pytest.mark.parametrize("shape", [(8, 1, 1), (16, 8, 1), (1, 70, 1), (3, 5, 7)], ids=str)
def test_workgroups_of_any_shape_go_part_by_part(shape, target_name, case, check):
    with program("shaped", shape) as p:
        a = p.read("a", u32)
        columns, rows = (p.num_workgroups(axis) * p.workgroup_size[axis] for axis in (0, 1))
        i = p.let((p.global_id(2) * rows + p.global_id(1)) * columns + p.global_id(0))
        p.write("out", u32, like=a)[i] = of(a[i], i)
    check(case(p.build(), {"a": VALUES}, grid=(2, 1, 1)), target_name)


def calls(lowered) -> list[ir.Call]:
    bodies = (kernel.program.body for kernel in lowered.kernels)
    return [
        n
        for body in bodies
        for n in postorder(e for s in statements(body) for e in expressions(s))
        if isinstance(n, ir.Call)
    ]


def test_a_selection_becomes_a_branch(dialects):
    built = plain()
    lowered = legalize(built, built.validate(), dialects["full"].target())
    (guard,) = lowered.kernels[0].program.body
    *_, branch, store = guard.then
    assert isinstance(branch, If)
    assert isinstance(store, Store)
    assert isinstance(store.value, ir.Local)
    ((region,), ()) = branch.then, branch.orelse
    assert isinstance(region, Region)
    assert region.label == RARELY
    assert [type(s) for s in region.body] == [Assign]
    assert not calls(lowered)
    assert not lowered.functions


def test_a_part_of_a_workgroup_branches_as_one(dialects):
    """Loops over invocations have selections only; a branch around such a loop asks whether one of 64 takes it."""
    built = plain(256)
    lowered = legalize(built, built.validate(), dialects["loops"].target())
    kernel = lowered.kernels[0]
    assert kernel.arrangement.most > 1
    (parts,) = [s for s in statements(kernel.program.body) if isinstance(s, For) and s.step == 64]
    *_, branch = parts.body
    assert isinstance(branch, If)
    (lanes,) = branch.then
    assert isinstance(lanes, For)
    loops = [s for s in statements(kernel.program.body) if isinstance(s, For) and s.step == 1]
    assert len(loops) == 4
    assert not [s for loop in loops for s in statements(loop.body) if isinstance(s, (If, Region))]
    assert not calls(lowered)


def test_a_function_is_called_where_the_branch_is_taken(dialects):
    dialect = replace(dialects["full"], function="apart {type} {name}({parameters})")
    built = plain()
    lowered = legalize(built, built.validate(), dialect.target())
    (call_left,) = calls(lowered)
    assert call_left.callee == "rare.slow"
    text = print_unit(lowered, dialect).text
    head, body = "apart u32 rare_slow_u32_u32(u32 x0, u32 x1) {", "const u32 result = x0 * (x1 ^ 85u);"
    assert f"{head}\n    {body}\n    return result;\n}}\n" in text
    assert text.index("apart u32") < text.index("kernel void plain")
    assert "if (is_rare) {\n            rare = rare_slow_u32_u32(" in text


def test_programs_of_one_unit_share_a_function(dialects):
    dialect = replace(dialects["full"], function="apart {type} {name}({parameters})")
    parts = [legalize(built, built.validate(), dialect.target()) for built in (plain(), guarded())]
    assert print_unit(joined(parts), dialect).text.count("apart u32 rare_slow_u32_u32(") == 1


def test_a_local_of_the_program_may_have_the_name(dialects, case, check):
    with program("named", 64) as p:
        a = p.read("a", u32)
        is_rare, rare = p.let(a[p.global_id(0)] > 5, name="is_rare"), p.let(a[p.global_id(0)] + 1, name="rare")
        p.write("out", u32, like=a)[p.global_id(0)] = of(rare, is_rare.cast(u32))
    check(case(p.build(), {"a": VALUES}), "loops")


def test_memory_that_is_written_is_read_once(dialects):
    """The operands of the branch are those of the condition, whatever others write in between."""
    built = in_place()
    lowered = legalize(built, built.validate(), dialects["full"].target())
    branches = [
        s for s in statements(lowered.kernels[0].program.body) if isinstance(s, If) and s.condition.dtype is bool_
    ]
    inside = [
        n for s in branches for r in s.then if isinstance(r, Region) for a in r.body for n in postorder(expressions(a))
    ]
    assert inside
    assert not [n for n in inside if isinstance(n, ir.Load)]
