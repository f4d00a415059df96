"""Workgroups as loops of one work item: phases, what lives between them, early ends, loops outside and inside."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.legalization.lowered import Lowered
from vyre_foundation.build import program
from vyre_foundation.dtype import DTYPES, bool_, i32, u8, u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.stmt import Atomic, Barrier, For, If
from vyre_foundation.ir.walk import program_expressions, statements

DATA = {"a": [(k * 2654435761) % 2**32 for k in range(40)]}


def privates(lowered: Lowered) -> set[str]:
    return {b.name for b in lowered.kernels[0].program.buffers if b.memory is Memory.PRIVATE}


def loops(lowered: Lowered) -> list[str]:
    return [s.name for s in statements(lowered.kernels[0].program.body) if isinstance(s, For)]


def test_a_kernel_becomes_one_work_item(case, check):
    with program("reverse", 8) as p:
        a, w = p.read("a", u32), p.workgroup("w", u32, 8)
        i, l = p.global_id(0), p.local_id(0)
        w[l] = a[i] * 3
        p.barrier()
        p.write("out", u32, like=a)[i] = w[7 - l]
    lowered = check(case(p.build(), DATA), "loops")
    program_ = lowered.kernels[0].program
    assert program_.workgroup_size == (1, 1, 1)
    assert not any(isinstance(s, Barrier) for s in statements(program_.body))
    assert {b.memory for b in program_.buffers} == {Memory.STORAGE, Memory.PRIVATE}


@pytest.mark.parametrize("shape", [(8, 1, 1), (1, 4, 1), (4, 2, 1), (2, 1, 3), (2, 2, 2), (1, 1, 1)])
def test_workgroups_of_all_shapes(shape, case, check):
    x, y, z = shape
    with program("shapes", shape) as p:
        a, w = p.read("a", u32), p.workgroup("w", u32, x * y * z)
        l = p.let((p.local_id(2) * y + p.local_id(1)) * x + p.local_id(0))
        rows, planes = p.num_workgroups(0) * x, p.num_workgroups(1) * y
        i = p.let((p.global_id(2) * planes + p.global_id(1)) * rows + p.global_id(0))
        w[l] = i + a[i]
        p.barrier()
        p.write("out", u32, like=a)[i] = w[(l + 1) % (x * y * z)]
    check(case(p.build(), DATA, grid=(2, 1, 2)), "loops")


@pytest.mark.parametrize("dialect", ["loops", "full"])
def test_a_workgroup_of_one_invocation_has_no_barriers(dialect, case, check):
    with program("alone", 1) as p:
        a, w = p.read("a", u32), p.workgroup("w", u32, 3)
        i = p.global_id(0)
        with p.range(0, i) as k:
            w[k % 3] = w[(k + 1) % 3] + a[i]
            p.barrier()
        p.write("out", u32, like=a)[i] = w[0]
    lowered = check(case(p.build(), DATA), dialect)
    assert not any(isinstance(s, Barrier) for s in statements(lowered.kernels[0].program.body))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_locals_of_every_type_live_between_phases(dtype, case, check):
    with program("between", 8) as p:
        a, w = p.read("a", dtype), p.workgroup("w", dtype, 8)
        i, l = p.global_id(0), p.local_id(0)
        mine, v = p.let(a[i], name="mine"), p.var(a[i + 1], name="v")
        w[l] = mine
        p.barrier()
        v.set(w[7 - l])
        p.barrier()
        with p.if_(l % 2 == 0):
            v.set(mine)
        p.write("out", dtype, like=a)[i] = v.get()
    data = bytes((k * 37 + 11) % 256 for k in range(40 * dtype.size))
    if dtype is bool_:
        data = bytes(k % 2 for k in range(40))
    assert {"mine0_kept", "v0_kept"} <= privates(check(case(p.build(), {"a": data}), "loops"))


def test_values_of_the_workgroup_are_computed_once(case, check):
    with program("uniform", 8) as p:
        a, w = p.read("a", u32), p.workgroup("w", u32, 8)
        first = p.let(p.workgroup_id(0) * 8 + 1, name="first")
        base = p.let(a[first], name="base")
        w[p.local_id(0)] = base + p.local_id(0)
        p.barrier()
        p.write("out", u32, like=a)[p.global_id(0)] = w[0] * base + first
    lowered = check(case(p.build(), DATA), "loops")
    assert privates(lowered) == {"w"}


@pytest.mark.parametrize("walk", ["rows", "columns"])
def test_rows_of_a_length_that_only_the_launch_knows_stay_inside(walk, case, check):
    """Each invocation walks along its own row; along columns, neighbours walk side by side."""
    with program("sums", 8) as p:
        a, sizes = p.read("a", u32), p.uniform("sizes", u32, 1)
        i, n, total = p.global_id(0), p.let(sizes[0]), p.var(0, u32)
        with p.range(0, n) as k:
            total.set(total + a[i * n + k if walk == "rows" else k * n + i])
        p.write("out", u32, 8)[i] = total
    lowered = check(case(p.build(), {**DATA, "sizes": [5]}, grid=(1, 1, 1)), "loops")
    around = [
        s for s in statements(lowered.kernels[0].program.body) if isinstance(s, For) and s.name.startswith("local_x")
    ]
    is_inside = any(isinstance(inner, For) for loop in around for inner in statements(loop.body))
    assert is_inside == (walk == "rows")


def test_indices_are_computed_again_where_the_workgroup_loops(case, check):
    """Made of ids, of sizes that the launch knows, and of each other: neighbours walk side by side, and no array says
    where to."""
    with program("indices", 8) as p:
        a, sizes = p.read("a", u32), p.uniform("sizes", u32, 1)
        row = p.let(p.workgroup_id(0) * sizes[0] + p.local_id(0))
        at = p.let(row + p.local_id(0) * 2)
        total = p.var(0, u32)
        with p.range(0, 9) as k:
            total.set(total + a[at + k] * a[row + k])
        p.write("out", u32, like=a)[p.global_id(0)] = total.get() + at
    lowered = check(case(p.build(), {**DATA, "sizes": [2]}), "loops")
    assert {name for name in privates(lowered) if name.startswith("t")} == set()


def test_control_around_barriers_is_the_workgroups(case, check):
    with program("control", 8) as p:
        a, n, w = p.read("a", u32), p.read("n", u32), p.workgroup("w", u32, 8)
        i, l = p.global_id(0), p.local_id(0)
        total = p.var(a[i], name="total")
        with p.range(0, n[0], name="r") as r:
            w[l] = total.get()
            p.barrier()
            with p.if_(n[r] % 2 == 0):
                total.set(total + w[7 - l])
                p.barrier()
                w[l] = r
            with p.else_():
                total.set(total * 3)
            p.barrier()
            with p.if_(n[r] == 9):
                p.break_()
            with p.if_(r % 2 == 1):
                p.continue_()
            total.set(total ^ w[0])
            p.barrier()
        p.write("out", u32, like=a)[i] = total.get()
    check(case(p.build(), {**DATA, "n": [7, 2, 3, 4, 1, 1, 9, 2]}), "loops")


def test_all_may_leave_before_a_barrier(case, check):
    with program("leave", 8) as p:
        a, n, w = p.read("a", u32), p.read("n", u32), p.workgroup("w", u32, 8)
        out = p.write("out", u32, like=a)
        i, l = p.global_id(0), p.local_id(0)
        out[i] = 1
        with p.if_(p.workgroup_id(0) >= n[0]):
            p.return_()
        w[l] = a[i]
        p.barrier()
        out[i] = w[7 - l]
    check(case(p.build(), {**DATA, "n": [2]}), "loops")


def test_some_may_leave_after_the_last_barrier(case, check):
    """From a branch, from a loop, from a loop in a loop; the others go on, also in what looks like another phase."""
    with program("some", 8) as p:
        a, w = p.read("a", u32), p.workgroup("w", u32, 8)
        out = p.write("out", u32, like=a)
        i, l = p.global_id(0), p.local_id(0)
        w[l] = a[i]
        p.barrier()
        with p.if_(p.workgroup_id(0) < 4):
            w[l] = w[l] + 1
            p.barrier()
            out[i] = w[7 - l]
            with p.if_(l == 2):
                p.return_()
            out[i] = out_value = p.let(w[l] * 2)
            assert out_value.dtype is u32
        with p.range(0, 6, name="j") as j:
            with p.range(0, 6, name="k") as k:
                with p.if_((j * k == l) & (l > 3)):
                    p.return_()
                out[i] = j * 10 + k
            with p.if_(j + l == 9):
                p.return_()
        with p.range(0, 100, name="m") as m:
            out[i] = m + l
    check(case(p.build(), DATA), "loops")


def test_nothing_follows_a_part_that_all_leave(case, check):
    """Locals are saved for later phases only where an invocation can reach them: no store follows a return."""
    with program("part", 16, subgroup_size=4) as p:
        a, i, total = p.read("a", u32), p.global_id(0), p.var(1, u32)
        out = p.write("out", u32, 48)
        with p.if_(p.workgroup_id(0) == 1):
            total.set(p.subgroup("reduce_add", a[i]))
            out[i] = total
            p.return_()
        out[i] = total * 3
    check(case(p.build(), DATA, grid=(3, 1, 1)), "loops")


def test_uniform_loops_go_outside_where_memory_is_walked_side_by_side(case, check):
    with program("interchange", 8) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        total, other = p.var(0, u32), p.var(0, u32)
        with p.range(0, 64, name="side") as k:
            total.set(total + a[k * 8 + i])
        with p.range(0, 16, name="row") as k:
            total.set(total + a[k * 32 + i * 4] + a[k * 32 + i * 4 + 3])
        with p.range(0, 64, name="own") as k:
            other.set(other + a[i * 64 + k])
        with p.range(0, 3, name="short") as k:
            other.set(other + a[k * 8 + i])
        with p.range(0, a[i] & 7, name="divergent") as k:
            other.set(other + k)
        p.write("out", u32, like=a)[i] = total + other
    lowered = check(case(p.build(), DATA), "loops")
    nests = [_nest(s) for s in statements(lowered.kernels[0].program.body) if isinstance(s, For)]
    for outside in ("side0", "row0"):
        assert any(nest[0].startswith(outside) and nest[1].startswith("local_x") for nest in nests if len(nest) > 1)
    around = {s.name.split("_")[0] for outer in _lanes(lowered) for s in statements(outer.body) if isinstance(s, For)}
    assert around == {"own0", "short0", "divergent0"}


def _nest(loop: For) -> list[str]:
    """The loops that are all of another's body, outermost first."""
    inner = [s for s in loop.body if isinstance(s, (For, If))]
    while inner and isinstance(inner[0], If):
        inner = [s for s in inner[0].then if isinstance(s, (For, If))]
    return [loop.name, *(_nest(inner[0]) if inner else [])]


def _lanes(lowered: Lowered) -> list[For]:
    """The loops over invocations."""
    stmts = statements(lowered.kernels[0].program.body)
    return [s for s in stmts if isinstance(s, For) and s.name.startswith("local_x")]


def test_guards_become_the_ends_of_loops(case, check):
    with program("tree", 256) as p:
        a, s = p.read("a", u32), p.workgroup("s", u32, 256)
        o = p.read_write("o", u32, 1)
        l = p.local_id(0)
        s[l] = a[p.global_id(0)]
        p.barrier()
        for d in (128, 64, 32, 16, 8, 4, 2, 1):
            with p.if_(l < d):
                s[l] = s[l] + s[l + d]
            p.barrier()
        with p.if_(l == 0):
            o.atomic_add(0, s[0])
    lowered = check(case(p.build(), {"a": range(1000), "o": [0]}, grid=(4, 1, 1)), "loops")
    body = lowered.kernels[0].program.body
    ends = [s.stop.value for s in statements(body) if isinstance(s, For)]
    assert ends == [256, 256, 128, 64, 32, 16, 8, 4, 2, 1, 1]
    assert not any(
        isinstance(n, Load) and n.checked and n.buffer.name == "s"
        for n in program_expressions(lowered.kernels[0].program)
    )


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 16, 31, 40])
def test_full_workgroups_have_no_checks(length, case, check):
    """Guards and loads at the global id are decided once for the workgroup; the last one, which is not full, checks."""
    with program("full", 8) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        i = p.global_id(0)
        p.write("sums", u32, like=a)[i] = a[i] + b[i + 1]
        with p.if_((i < b.length) & (a[i] % 2 == 0)):
            p.write("twice", u32, like=a)[i] = b[i] * 2
    lowered = check(case(p.build(), {"a": range(40), "b": range(length)}), "loops")
    (version,) = (s for s in lowered.kernels[0].program.body if isinstance(s, If))
    assert "unchecked" in str(lowered.kernels[0].program)
    checked = [n for n in program_expressions(lowered.kernels[0].program) if isinstance(n, Load) and n.checked]
    assert checked
    assert version.orelse


def test_atomics_on_workgroup_memory_are_plain(case, check):
    with program("histogram", 32) as p:
        a, h, o = p.read("a", u8), p.workgroup("h", u32, 16), p.read_write("o", u32)
        old = p.write("old", i32, 64)
        signed = p.workgroup("signed", i32, 2)
        i, l = p.global_id(0), p.local_id(0)
        h.atomic_add(a[i].cast(u32) & 15, 1)
        signed.atomic_min(0, l.cast(i32) - 7)
        signed.atomic_max(1, -l.cast(i32))
        p.barrier()
        with p.if_(l < 16):
            o.atomic_add(l, h[l])
        old[i] = signed[0] * 100 + signed[1]
    lowered = check(case(p.build(), {"a": np.arange(64) * 7 % 256, "o": [0] * 16}), "loops")
    assert {s.buffer.name for s in statements(lowered.kernels[0].program.body) if isinstance(s, Atomic)} == {"o"}


@pytest.mark.parametrize("op", ["add", "and", "or", "xor", "min", "max", "exchange"])
def test_every_plain_atomic_gives_the_old_value(op, case, check):
    with program("old", 1) as p:
        w, out = p.workgroup("w", i32, 2), p.write("out", i32, 6)
        w[0] = 13
        out[0] = getattr(w, f"atomic_{op}")(0, 6)
        out[1] = w[0]
        out[2] = w.atomic_compare_exchange(0, 13, -5)
        out[3] = w.atomic_compare_exchange(1, 0, -6)
        out[4] = w[1] + w[0]
        out[5] = getattr(w, f"atomic_{op}")(9, 6) + 1
    check(case(p.build(), {}, grid=(1, 1, 1)), "loops")
    with program("old", 2) as p:
        w, out = p.workgroup("w", i32, 2), p.write("out", i32, 4)
        l = p.local_id(0)
        w[l] = 13
        out[l * 2] = getattr(w, f"atomic_{op}")(l, 6)
        out[l * 2 + 1] = w[l]
    check(case(p.build(), {}, grid=(1, 1, 1)), "loops")


def test_private_arrays_have_a_part_for_each_invocation(case, check):
    with program("private", 8) as p:
        a, own, w = p.read("a", u32), p.private("own", u32, 3), p.workgroup("w", u32, 8)
        i, l = p.global_id(0), p.local_id(0)
        own[l % 4] = a[i]
        w[l] = own[0]
        p.barrier()
        own[i] = own[i] + w[7 - l]
        p.write("out", u32, like=a)[i] = own[l % 4] + own[1] + own[a[i]] + own[2]
    check(case(p.build(), DATA), "loops")


@pytest.mark.parametrize("components", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("shape", [(4, 8), (2, 16), (8, 2, 2)])
@pytest.mark.parametrize("length", [1, 7, 16, 33])
def test_components_of_all_invocations_are_computed(shape, length, components, case, check):
    """Those beyond the components, and further workgroups on x, do nothing; variables are their own."""
    with program("points", shape) as p:
        x = p.read("x", u32)
        out, sums = p.write("out", u32, like=x), p.read_write("sums", u32, 4)
        c, i = p.global_id(0), p.global_id(1)
        with p.if_((c < components) & (i < length) & (p.global_id(2) == 0)):
            total = p.var(x[i * components + c])
            with p.range(0, c + 1) as k:
                total.set(total * 3 + x[i * components + k])
            with p.if_(total % 2 == 0):
                total.set(total + 1)
            out[i * components + c] = total
            sums.atomic_add(c % 4, total)
    arrays = {"x": range(5, 5 + length * components), "sums": [0] * 4}
    lowered = check(case(p.build(), arrays, grid=(3, -(-length // shape[1]), 1)), "loops")
    has_loop = any(name.startswith("local_x") for name in loops(lowered))
    assert has_loop == (components > min(4, shape[0]))
