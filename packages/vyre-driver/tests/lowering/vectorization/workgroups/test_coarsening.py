"""Workgroups in a row: which programs have them, that no invocation is lost or runs twice, and that ids stay."""

from __future__ import annotations

import pytest

from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.schedule import RUNS
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import f64, u32
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import For
from vyre_foundation.ir.walk import statements


def most(lowered: Lowered) -> int:
    (kernel,) = lowered.kernels
    assert (kernel.arrangement.most > 1) == (RUNS in lowered.buffers)
    return kernel.arrangement.most


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 5, 7])
def test_every_invocation_of_the_grid_runs_once_and_no_other(groups, case, check):
    """Rows are of three workgroups; memory goes on behind the grid."""
    with program("counted", 8) as p:
        counts, total = p.read_write("counts", u32, 64), p.write("total", u32, 1)
        counts[p.global_id(0)] += 1
        total.atomic_add(0, p.global_id(0) + 1)
    source = case(p.build(), {"counts": [0] * 64}, grid=(groups, 1, 1))
    n = 8 * groups
    words = [1] * n + [0] * (64 - n)
    assert source.run()["counts"] == b"".join(word.to_bytes(4, "little") for word in words)
    assert most(check(source, "loops")) == 16384 // 8


@pytest.mark.parametrize("at", [(0, 0, 0), (19, 0, 0), (8, 1, 0), (13, 3, 1), (19, 3, 2)])
def test_traps_name_the_invocation_by_the_grid_of_the_dispatch(at, case, check):
    with program("trapping", (4, 2)) as p:
        x, y, z = (p.global_id(axis) for axis in range(3))
        with p.if_((x >= at[0]) & (y >= at[1]) & (z >= at[2])):
            p.trap(x, "there")
        p.write("out", u32, 4)[0] = p.num_workgroups(0)
    source = case(p.build(), {}, grid=(5, 2, 3))
    assert source.run() == ("there", at[0], (at[2] * 4 + at[1]) * 20 + at[0])
    assert most(check(source, "loops")) > 1


def test_the_number_of_workgroups_is_that_of_the_dispatch(case, check):
    with program("numbers", (4, 2)) as p:
        i = p.global_id(1) * 20 + p.global_id(0)
        p.write("out", u32, 80)[i] = p.num_workgroups(0) * 100 + p.num_workgroups(1) * 10 + p.workgroup_id(1)
    assert most(check(case(p.build(), {}, grid=(5, 2, 1)), "loops")) == 16384 // 4


@pytest.mark.parametrize(("is_checked", "expected"), [(False, 16384), (True, 4096)])
def test_batches_are_smaller_where_one_access_out_of_bounds_has_all_checked(is_checked, expected, case, check):
    with program("shifted", 8) as p:
        x = p.read("x", u32)
        out, i = p.write("out", u32, like=x), p.global_id(0)
        out[i] = x[i + 1] if is_checked else i
    assert most(check(case(p.build(), {"x": range(24)}, grid=(3, 1, 1)), "loops")) == expected // 8


@pytest.mark.parametrize("what", ["local id", "workgroup id", "workgroup memory", "barrier"])
def test_programs_that_tell_workgroups_apart_have_no_rows(what, case, check):
    with program("apart", 8) as p:
        i, value = p.global_id(0), p.var(p.global_id(0))
        value.set(value)
        match what:
            case "local id":
                value.set(p.local_id(0))
            case "workgroup id":
                value.set(p.workgroup_id(0))
            case "workgroup memory":
                p.workgroup("w", u32, 1).atomic_add(0, 1)
            case "barrier":
                p.barrier()
        p.write("out", u32, 64)[i] = value
    assert most(check(case(p.build(), {}, grid=(5, 1, 1)), "loops")) == 1


def test_what_the_invocations_of_a_row_keep_is_no_more_than_16_kibibytes(case, check):
    with program("rounds", 64) as p:
        n, x = p.uniform("n", u32, 1), p.var(p.global_id(0).cast(f64))
        with p.range(0, n[0]):
            x.set(x * 1.5 + 1.0)
        p.write("out", f64, 192)[p.global_id(0)] = x
    assert most(check(case(p.build(), {"n": [5]}, grid=(3, 1, 1)), "loops")) == 16 * 1024 // (64 * 8)
    with program("tables", 64) as p:
        table, i = p.private("table", u32, 40), p.global_id(0)
        table[i % 40] = i
        p.write("out", u32, 192)[i] = table[(i + 1) % 40] + table[i % 40]
    assert most(check(case(p.build(), {}, grid=(3, 1, 1)), "loops")) == 1


def test_loops_that_stay_inside_make_no_vectors_and_have_no_rows(case, check):
    with program("search", 8) as p:
        a, i = p.read("a", u32), p.global_id(0)
        with p.range(a[i], a[i + 1]) as k, p.if_(apply("rem", k, 7) == 3):
            p.write("out", u32, 24)[i] = k
            p.break_()
    assert most(check(case(p.build(), {"a": range(0, 75, 3)}, grid=(3, 1, 1)), "loops")) == 1


def test_invocations_that_end_early_end_alone(case, check):
    with program("early", 8) as p:
        a, i = p.read("a", u32), p.global_id(0)
        with p.if_(a[i] % 3 == 0):
            p.return_()
        p.write("out", u32, 40)[i] = a[i] * 5
    assert most(check(case(p.build(), {"a": range(40)}, grid=(5, 1, 1)), "loops")) > 1


def columns_first(axis: int) -> Program:
    """Rows are on `axis`, columns on the other one; how long a row is, is known at the launch."""
    with program("columns", (8, 4) if axis == 0 else (4, 8)) as p:
        sizes, a = p.uniform("sizes", u32, 1), p.read("a", u32, 24 * 8)
        out = p.write("out", u32, 24 * 8)
        at = p.let(p.global_id(axis) * sizes[0] + p.global_id(1 - axis))
        out[at] = a[at] * 3 + p.global_id(0)
    return p.build()


@pytest.mark.parametrize("axis", [0, 1])
def test_the_innermost_loop_walks_along_memory(axis, case, check):
    """Where x is strided, invocations that are neighbours on y run one after the other, also in rows of workgroups."""
    source = case(columns_first(axis), {"sizes": [8], "a": range(24 * 8)}, grid=(3, 2, 1) if axis == 0 else (2, 3, 1))
    lowered = check(source, "loops")
    assert most(lowered) > 1
    (kernel,) = lowered.kernels
    loops = [s for s in statements(kernel.program.body) if isinstance(s, For)]
    innermost = {s.name.split("_")[1] for s in loops if not any(isinstance(x, For) for x in statements(s.body))}
    assert innermost == {"xy"[1 - axis]}


def test_what_invocations_keep_is_walked_in_order(case, check):
    """Kept values lie in the order of x, whatever else is walked in another one."""
    with program("kept", (8, 4)) as p:
        sizes, tile = p.uniform("sizes", u32, 1), p.workgroup("tile", u32, 32)
        a, out = p.read("a", u32, 32), p.write("out", u32, 32)
        at = p.let(p.local_id(0) * sizes[0] + p.local_id(1))
        own = p.let(a[at])
        tile[at] = own
        p.barrier()
        out[at] = tile[31 - at] * 5 + own
    check(case(p.build(), {"sizes": [4], "a": range(32)}, grid=(1, 1, 1)), "loops")
