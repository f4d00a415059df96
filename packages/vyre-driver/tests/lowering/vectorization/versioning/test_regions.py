"""Regions in two versions: what is decided before them, and that every index means in both what it means in neither."""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import partial
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.legalization.lowered import RARE, Lowered
from vyre_foundation.build import apply, program, select
from vyre_foundation.build.composed import floor_mod
from vyre_foundation.dtype import i32, i64, u32, u64
from vyre_foundation.functions import eq, max, min, min as least
from vyre_foundation.ir.expr import Apply, Load, Select
from vyre_foundation.ir.stmt import Break, For, If, Region, Store
from vyre_foundation.ir.walk import bodies, expressions, postorder, rewrite_body, statements
from vyre_foundation.ops import OPS, Tier


def checks(lowered: Lowered, *, rare: bool = False) -> list[str]:
    """The buffers of checked loads and of guarded stores, outside of what few workgroups come to, or only there."""
    found: list[str] = []

    def walk(body, inside):
        for stmt in body:
            if inside == rare:
                nodes = postorder(expressions(stmt))
                found.extend(n.buffer.name for n in nodes if isinstance(n, Load) and n.checked)
                if isinstance(stmt, If) and stmt.then and isinstance(stmt.then[0], Store) and not stmt.orelse:
                    found.append(stmt.then[0].buffer.name)
            for nested in bodies(stmt):
                walk(nested, inside or (isinstance(stmt, Region) and stmt.label == RARE))

    for kernel in lowered.kernels:
        walk(kernel.program.body, False)
    return found


BOTH = pytest.mark.parametrize("dialect", ["loops", "vectors"])


@BOTH
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 15, 16, 17, 24, 31])
def test_neighbours_are_decided_for_the_workgroup(length, dialect, case, check):
    with program("stencil", 8) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        p.write("out", u32, 24)[i] = a[i - 1] + a[i] * 2 + a[i + 1]
    lowered = check(case(p.build(), {"a": range(length)}), dialect)
    assert checks(lowered) == []
    assert set(checks(lowered, rare=True)) >= {"a"}


@BOTH
def test_rows_of_a_length_that_only_the_launch_knows(dialect, case, check):
    with program("rows", (4, 2)) as p:
        a, width = p.read("a", u32), p.uniform("width", u32, 1)
        x, y = p.global_id(0), p.global_id(1)
        p.write("out", u32, 64)[y * 8 + x] = a[y * width[0] + x]
    lowered = check(case(p.build(), {"a": range(50), "width": [7]}, grid=(2, 4, 1)), dialect)
    assert "a" not in checks(lowered)


@pytest.mark.parametrize("sizes", [(30, 7), (32, 7), (3, 0), (0, 5), (29, 8), (40, 7), (2**32 - 1, 2**31)])
def test_rows_whose_number_and_length_memory_holds_are_decided_for_the_workgroup(sizes, case, check):
    """Sizes are read once, before the loop over invocations, and the last row is that of the last invocation."""
    with program("rows", 8) as p:
        a, size = p.read("a", u32), p.uniform("sizes", u32, 2)
        out = p.read_write("out", u32)
        i = p.global_id(0)
        with p.if_(i < size[0]):
            total = p.var(i, u32)
            with p.range(0, least(size[1], 9)) as k:
                total.set(total * 3 + a[i * size[1] + k])
            out[i] = total + size[1]
    lowered = check(case(p.build(), {"a": range(210), "sizes": sizes, "out": range(32)}, grid=(4, 1, 1)), "loops")
    assert checks(lowered) == []
    loops = [s for s in statements(lowered.kernels[0].program.body) if isinstance(s, For) and s.is_parallel]
    decided = [loop for loop in loops if not any(isinstance(s, If) for s in statements(loop.body))]
    assert decided
    assert not [n for n in postorder(e for s in statements(decided[0].body) for e in expressions(s)) if is_size(n)]


@BOTH
@pytest.mark.parametrize("sizes", [[], [3], [3, 5], [3, 5, 7]])
def test_elements_that_a_condition_proves_are_not_read_before_it(sizes, dialect, case, check):
    with program("sizes", 8) as p:
        a, size = p.read("a", u32), p.read("sizes", u32)
        i, total = p.global_id(0), p.var(7, u32)
        with p.range(0, 20) as k:
            with p.if_(size.length > 1):
                total.set(total * 3 + a[i * size[1] + k] + size[0])
            with p.if_(size.length == 0):
                total.set(total + 1)
        p.write("out", u32, 24)[i] = total
    check(case(p.build(), {"a": range(130), "sizes": sizes}), dialect)


def is_size(node) -> bool:
    return isinstance(node, Load) and node.buffer.name == "sizes"


def test_layers_of_a_box_that_only_the_launch_knows(case, check):
    """Indices of products of products, to which another product is added; sizes are read without a check."""
    with program("box", (4, 2, 1)) as p:
        a, sizes = p.read("a", u32), p.uniform("sizes", u32, 2)
        wide, layer = p.let(sizes[0]), p.let(sizes[0] * sizes[1])
        at = p.let((p.global_id(2) * sizes[1] + p.global_id(1)) * wide + p.global_id(0))
        p.write("out", u32, 96)[at] = a[at - layer] + a[at + layer] + a[at]
    lowered = check(case(p.build(), {"a": range(96), "sizes": [8, 4]}, grid=(2, 2, 3)), "vectors")
    assert checks(lowered) == []


def test_a_loop_inside_is_decided_before_the_loop_over_invocations(case, check):
    with program("rounds", 8) as p:
        a = p.read("a", u32)
        i, total = p.global_id(0), p.var(0, u32)
        with p.range(0, 64) as k:
            total.set(total + a[i * 64 + k])
        p.write("out", u32, 16)[i] = total
    assert checks(check(case(p.build(), {"a": range(1000)}), "loops")) == []


@BOTH
def test_bounds_that_memory_holds_are_compared_at_each_loop(dialect, case, check):
    with program("rows", 4) as p:
        starts, values = p.read("starts", u32), p.read("values", u32)
        i, total = p.global_id(0), p.var(0, u32)
        with p.range(starts[i], starts[i + 1]) as k:
            total.set(total + values[k])
        p.write("out", u32, 8)[i] = total
    data = {"starts": [0, 3, 3, 9, 2**32 - 1, 0, 5, 8, 12], "values": range(10)}
    data["starts"][4] = 9
    lowered = check(case(p.build(), data), dialect)
    assert checks(lowered) == []


@BOTH
@pytest.mark.parametrize("level", [3, 4, 0])
def test_searches_of_unknown_length_have_no_version_of_their_own(level, dialect, case, check):
    """They may be over at once. Ranges leave the values, and values leave the flags: both are 0 there."""
    with program("search", 4) as p:
        starts, values, flags = p.read("starts", u32), p.read("values", u32), p.read("flags", u32)
        i, found = p.global_id(0), p.var(99, u32)
        with p.range(starts[i], starts[i + 1]) as k, p.if_(flags[values[k]] == level):
            found.set(k)
            p.break_()
        p.write("out", u32, 8)[i] = found
    data = {
        "starts": [0, 3, 3, 9, 14, 0, 5, 8, 12],
        "values": [2, 7, 1, 0, 3, 2**32 - 1, 1, 2, 0, 1],
        "flags": [3, 5, 3, 4],
    }
    lowered = check(case(p.build(), data), dialect)
    searches = [loop for loop in innermost(lowered) if any(isinstance(s, Break) for s in statements(loop.body))]
    assert len(searches) == 2  # of the workgroup's two versions
    assert "starts" not in checks(lowered)
    assert {"values", "flags"} <= set(checks(lowered))


@BOTH
def test_indices_from_memory_stay_checked(dialect, case, check):
    with program("gather", 4) as p:
        at, a = p.read("at", u32), p.read("a", u32)
        p.write("out", u32, like=at)[p.global_id(0)] = a[at[p.global_id(0)]]
    lowered = check(case(p.build(), {"at": [3, 2**32 - 1, 0, 9], "a": range(4)}), dialect)
    assert "a" in checks(lowered)


@BOTH
def test_partners_of_a_butterfly_stay_below_a_power_of_two(dialect, case, check):
    with program("butterfly", 8) as p:
        a, distance = p.read("a", u32), p.uniform("distance", u32, 1)
        p.write("out", u32, 32)[p.global_id(0)] = a[p.global_id(0) ^ distance[0]]
    for distance in (1, 2, 16, 31, 32, 2**31):
        lowered = check(case(p.build(), {"a": range(32), "distance": [distance]}), dialect)
        assert "a" not in checks(lowered)


@BOTH
def test_what_was_proven_behind_a_guard_is_not_moved_before_both_versions(dialect, dialects, case, check):
    """The load of `b` is proven by the guard of the store; the versions share its index."""
    with program("shared", 4) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        i, g = p.global_id(0), p.workgroup_id(0)
        out = p.write("out", u32, like=b)
        out[g] = b[g]
        p.write("far", u32, 16)[i] = a[i + 2]
    lowered = check(case(p.build(), {"a": range(18), "b": range(2)}, grid=(4, 1, 1)), dialect)
    text = print_unit(lowered, dialects[dialect]).text
    body = text[text.index("{") :]
    assert body.index("if (") < body.index("b[")


def test_what_was_proven_behind_a_guard_is_not_moved_before_versions_of_what_is_selected(dialects, case, check):
    """`b` is shorter than the grid: only the guard keeps its load within it, in both versions of the border."""
    with program("shared", 64) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        i, g = p.global_id(0), p.workgroup_id(0)
        out = p.write("out", u32, 256)
        with p.if_(g < b.length):
            out[i] = select(i > 0, a[i - 1], 7) + b[g]
    lowered = check(case(p.build(), {"a": range(256), "b": [3]}, grid=(4, 1, 1)), "loops")
    unchecked = [line for line in print_unit(lowered, dialects["loops"]).text.splitlines() if "= b[" in line]
    assert unchecked == []


@pytest.mark.parametrize(("width", "height"), [(256, 16), (192, 9), (320, 12)])
def test_rows_of_a_workgroup_are_decided_together(width, height, case, check):
    """A border around rows that are long enough to ask for themselves; inside of it nothing is asked or selected."""
    with program("border", (64, 4)) as p:
        plate, out = p.read("plate", u32), p.write("out", u32, width * height)
        x, y = p.global_id(0), p.global_id(1)
        at = p.let(y * width + x)
        inside = (x > 0) & (x < width - 1) & (y > 0) & (y < height - 1)
        out[at] = select(inside, plate[at - width] + plate[at - 1] + plate[at + width] * 3, plate[at] + 7)
    grid = (-(-width // 64), -(-height // 4), 1)
    lowered = check(case(p.build(), {"plate": range(1, width * height + 1)}, grid=grid), "loops")
    (kernel,) = lowered.kernels
    (decision,) = [s for s in kernel.program.body if isinstance(s, If)]
    rows = [s for s in decision.then if isinstance(s, For)]
    assert [select_count(row) for row in rows] == [0]
    assert not any(isinstance(s, If) for s in statements(rows[0].body))
    assert any(isinstance(s, If) for s in statements(decision.orelse))


@pytest.mark.parametrize(("width", "height"), [(64, 8), (128, 4), (64, 1)])
def test_rows_of_which_all_have_a_border(width, height, case, check):
    with program("border", (64, 4)) as p:
        plate, out = p.read("plate", u32), p.write("out", u32, width * height)
        at = p.let(p.global_id(1) * width + p.global_id(0))
        inside = (p.global_id(0) > 0) & (p.global_id(0) < width - 1) & (p.global_id(1) > 0)
        out[at] = select(inside, plate[at - width] + plate[at - 1], plate[at] + 7)
    grid = (-(-width // 64), -(-height // 4), 1)
    check(case(p.build(), {"plate": range(1, width * height + 1)}, grid=grid), "loops")


@pytest.mark.parametrize("shape", [(6, 16), (5, 13), (3, 33), (1, 8), (9, 1)])
@pytest.mark.parametrize("guard", ["none", "begins later", "ends earlier", "returns"])
def test_rows_may_begin_and_end_anywhere(guard, shape, case, check):
    """Loads stay unchecked wherever all of a row is, and mean the same at its borders."""
    with program("rows", (8, 2)) as p:
        a, sizes, out = p.read("a", u32), p.uniform("sizes", u32, 2), p.write("out", u32, shape[0] * shape[1])
        x, y, high, wide = p.global_id(0), p.global_id(1), sizes[0], sizes[1]

        def at(j, i):
            return select((j < high) & (i < wide), a[j * wide + i], 0)

        def stored(value):
            with p.if_((y < high) & (x < wide)):
                out[y * wide + x] = value

        inside = {"begins later": (x > 0) & (y > 1), "ends earlier": x + 1 < wide}.get(guard, y < high)
        if guard == "returns":
            with p.if_((x == 0) | (y == high - 1)):
                stored(7)
                p.return_()
        with p.if_(inside):
            stored(at(y - 1, x - 1) + at(y, x) * 3 + at(y + 1, x + 1) * 5)
    data = {"a": range(1, shape[0] * shape[1] + 1), "sizes": shape}
    lowered = check(case(p.build(), data, grid=(-(-shape[1] // 8), -(-shape[0] // 2), 1)), "loops")
    assert "a" not in checks(lowered)


# ── random indices ──

NUMBERS = st.sampled_from([0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 64, 2**31, 2**32 - 1, 2**32 - 8])

OPERATIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": min,
    "max": max,
    "div": partial(apply, "div"),
    "rem": partial(apply, "rem"),
    "shl": operator.lshift,
    "shr": operator.rshift,
    "and": operator.and_,
    "xor": operator.xor,
    "or": operator.or_,
}


@st.composite
def indices(draw: st.DrawFn):
    """A function from atoms (values of one type) to an index of that type."""
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(sorted(OPERATIONS)),
                st.one_of(NUMBERS, st.integers(-4, -1)),
            ),
            min_size=1,
            max_size=4,
        )
    )

    def index(atoms):
        value = atoms[0]
        for op, operand in steps:
            other = atoms[operand] if operand < 0 else operand & int(value.dtype.highest)
            value = OPERATIONS[op](value, other)
        return value

    return index


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    dtype=st.sampled_from([u32, i32, u64, i64]),
    parts=st.lists(indices(), min_size=1, max_size=3),
    length=st.sampled_from([0, 1, 5, 8, 16, 17, 40, 64, 100]),
    words=st.lists(NUMBERS, min_size=2, max_size=2),
    rounds=st.integers(0, 5),
    dialect=st.sampled_from(["loops", "vectors"]),
)
def test_every_index_means_the_same_in_both_versions(case, check, dtype, parts, length, words, rounds, dialect):
    with program("random", (4, 2)) as p:
        a, uniform = p.read("a", u32), p.uniform("words", u32, 2)
        out, sums = p.read_write("out", u32), p.write("sums", u32, 64)
        x, y = p.global_id(0), p.global_id(1)
        total, names = p.var(0, u32), count()
        with p.range(0, min(uniform[1] & 7, rounds)) as k:
            fixed = uniform[0].cast(dtype)
            atoms = [x.cast(dtype), y.cast(dtype), k.cast(dtype), fixed, p.local_id(0).cast(dtype)]
            for part in parts:
                place = next(names)
                index = p.let(part(atoms[place:] + atoms[:place]))
                total.set(total + a[index] + a[index + 1])
        with p.if_(x < uniform[0]):
            out.atomic_add(parts[0]([y.cast(dtype), x.cast(dtype), fixed, y.cast(dtype)]), 1)
        sums[y * 8 + x] = total
    data = {"a": range(1, length + 1), "words": words, "out": [0] * length}
    check(case(p.build(), data, grid=(2, 2, 1)), dialect)


def test_the_end_of_a_version_may_be_kept_apart(dialects, case, check):
    """A statement behind what rarely runs, but for loops, which nothing joins."""
    with program("neighbours", 4) as p:
        a, i = p.read("a", u32), p.global_id(0)
        p.write("out", u32, 16)[i] = a[i + 1]
    for name, expected in (("vectors", 1), ("loops", 0)):
        lowered = check(case(p.build(), {"a": range(9)}, grid=(4, 1, 1)), name)
        text = print_unit(lowered, replace(dialects[name], rare_end="apart();")).text
        assert text.count("apart();") == expected
        if expected:
            assert text.split()[-3:] == ["apart();", "}", "}"]


@pytest.mark.parametrize(("width", "height"), [(32, 6), (20, 3), (24, 4), (33, 4)])
def test_away_from_the_border_nothing_is_selected(width, height, case, check):
    """A plate with a border; only the workgroups inside of it have a version without the select."""
    with program("border", (8, 2)) as p:
        plate, out = p.read("plate", u32), p.write("out", u32, width * height)
        x, y = p.global_id(0), p.global_id(1)
        at = p.let(y * width + x)
        inside = (x > 0) & (x < width - 1) & (y > 0) & (y < height - 1)
        with p.if_(x < width):
            out[at] = select(inside, plate[at - 1] + plate[at + width] * 3, plate[at] + 7)
    grid = (-(-width // 8), -(-height // 2), 1)
    lowered = check(case(p.build(), {"plate": range(1, width * height + 1)}, grid=grid), "loops")
    selects = [select_count(loop) for loop in innermost(lowered)]
    assert 0 in selects
    assert any(selects)


def innermost(lowered: Lowered) -> list[For]:
    """The loops without loops in them."""
    found = [s for kernel in lowered.kernels for s in statements(kernel.program.body) if isinstance(s, For)]
    return [loop for loop in found if not any(isinstance(s, For) for s in statements(loop.body))]


def select_count(loop: For) -> int:
    return sum(isinstance(n, Select) for n in postorder(e for s in statements(loop.body) for e in expressions(s)))


def without_rare(lowered: Lowered) -> Lowered:
    """Kernels in which what few workgroups come to does nothing."""
    empty = lambda s: replace(s, body=()) if isinstance(s, Region) and s.label == RARE else s
    made = [replace(k, program=replace(k.program, body=rewrite_body(k.program.body, empty))) for k in lowered.kernels]
    return replace(lowered, kernels=tuple(made))


@pytest.mark.parametrize("width", [1, 3, 4, 5, 7, 8, 12, 13, 29])
@pytest.mark.parametrize("height", [1, 2, 3])
def test_rows_that_end_within_a_workgroup_are_not_rare(width, height, case, dialects):
    """The last workgroup of each row has fewer invocations: a batch of workgroups goes up to the last."""
    with program("image", (4, 2)) as p:
        a, size = p.read("a", u32), p.uniform("size", u32, 2)
        out = p.write("out", u32, like=a)
        x, y = p.global_id(0), p.global_id(1)
        with p.if_((x < size[0]) & (y < size[1])):
            out[y * size[0] + x] = a[y * size[0] + x] * 3
    arrays = {"a": range(1, width * height + 1), "size": [width, height]}
    made = case(p.build(), arrays, grid=(-(-width // 4), -(-height // 2), 1))
    lowered = made.lower(dialects["loops"].target())
    assert checks(lowered, rare=True)
    assert made.run_lowered(without_rare(lowered)) == made.run()


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 63, 64, 65, 130, 200])
def test_neighbours_that_are_clamped_are_neighbours_in_the_middle(length, case, check):
    with program("blur", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i, n = p.global_id(0), a.length
        with p.if_(i < n):
            before, behind = a[max(i, 1) - 1], a[min(i + 1, n - 1)]
            out[i] = before * 3 + a[i] + behind * 5
    lowered = check(case(p.build(), {"a": range(3, 3 + length)}), "loops")
    assert sorted({*map(_is_clamped, innermost(lowered))}) == [False, True]


def _torus(a, i, n):
    return a[(i + n - 1) % n] * 3 + a[(i + 1) % n]


def _floored(a, i, n):
    def wrapped(distance):
        return floor_mod(i.cast(i32) + distance, n.cast(i32)).cast(u32)

    return a[wrapped(-2)] * 3 + a[wrapped(1)]


def _chosen(a, i, n):
    return a[select(i == 0, n - 1, i - 1)] * 3 + a[select(i == n - 1, 0, i + 1)]


def _border(a, i, n):
    return select((i < 2) | (i >= n - 2), 7, a[i - 2] * 3 + a[i + 2])


NEIGHBOURS = {"torus": _torus, "floored": _floored, "chosen": _chosen, "border": _border}


@pytest.mark.parametrize("length", [1, 2, 3, 5, 63, 64, 65, 130, 200])
@pytest.mark.parametrize("form", NEIGHBOURS)
def test_neighbours_that_wrap_are_neighbours_in_the_middle(form, length, case, check):
    with program("ring", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i, n = p.global_id(0), a.length
        with p.if_(i < n):
            out[i] = NEIGHBOURS[form](a, i, n)
    lowered = check(case(p.build(), {"a": range(3, 3 + length)}), "loops")
    assert sorted({*map(_is_decided, innermost(lowered))}) == [False, True]


OF_INTEGERS = [op for op in OPS.values() if i32 in op.accepts and op.arity == 2 and op.tier is Tier.LANGUAGE]


@pytest.mark.parametrize("op", [op for op in OF_INTEGERS if op.results[i32].is_integer], ids=lambda op: op.id)
def test_a_selection_between_a_sum_and_any_operation(op, case, check):
    """If the operation is a remainder, the selection may be one with the sign of the divisor."""
    result = op.results[i32]
    with program("chosen", (1, 3)) as p:
        a, b = p.read("a", i32), p.read("b", u32)
        out = p.write("out", result, like=b)
        row, i = p.global_id(1), p.global_id(0)
        at = row * 3 + i
        found = apply(op, a[at], 3)
        out[at] = select(a[5] == 1, b[at].cast(result) + 1, found)
    check(case(p.build(), {"a": range(20), "b": range(9)}), "loops")


@pytest.mark.parametrize("form", ["chosen", "border"])
def test_neighbours_in_arrays_of_a_known_length_are_neighbours_in_the_middle(form, case, check):
    with program("row", 64) as p:
        a, out = p.read("a", u32, 200), p.write("out", u32, 200)
        i = p.global_id(0)
        out[i] = NEIGHBOURS[form](a, i, 200)
    lowered = check(case(p.build(), {"a": range(3, 203)}), "loops")
    assert sorted({*map(_is_decided, innermost(lowered))}) == [False, True]


def _counted(p, a, i, n, total):
    with p.range(0, 5) as k:
        j = i + k - 2
        with p.if_(j < n):
            total.set(total * 3 + a[j])


def _within(p, a, i, n, total):
    with p.range(max(i, 2) - 2, min(i + 3, n)) as j:
        total.set(total * 3 + a[j])


def _around(p, a, i, n, total):
    with p.range(0, 5) as k:
        total.set(total * 3 + a[(i + n + k - 2) % n])


WINDOWS = {"counted": _counted, "within": _within, "around": _around}


@pytest.mark.parametrize("length", [1, 2, 3, 5, 63, 64, 65, 130, 200])
@pytest.mark.parametrize("form", WINDOWS)
def test_windows_are_counted_in_the_middle(form, length, case, check):
    """In the middle there are five neighbours, whichever way the program finds them."""
    with program("window", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i, n = p.global_id(0), a.length
        with p.if_(i < n):
            total = p.var(u32(1))
            WINDOWS[form](p, a, i, n, total)
            out[i] = total
    lowered = check(case(p.build(), {"a": range(3, 3 + length)}), "loops")
    assert any(loop.trip_count == 5 and _is_decided(loop) for loop in innermost(lowered))


def test_a_remainder_of_another_number_is_not_taken_to_wrap(case, check):
    """A tile that repeats is shorter than the row: nothing is the middle of it."""
    with program("tiles", 64) as p:
        a, size = p.read("a", u32), p.uniform("size", u32, 1)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(i < a.length):
            out[i] = a[i % size[0]]
    lowered = check(case(p.build(), {"a": range(130), "size": [7]}), "loops")
    assert not any(map(_is_decided, innermost(lowered)))


def _is_decided(loop: For) -> bool:
    """Whether a loop neither divides nor chooses."""
    nodes = postorder(e for s in statements(loop.body) for e in expressions(s))
    divides = any(isinstance(node, Apply) and node.op.id in ("rem", "raw_rem") for node in nodes)
    return not (divides or any(isinstance(node, Select) for node in nodes) or any(isinstance(s, If) for s in loop.body))


def _is_clamped(loop: For) -> bool:
    """Whether a minimum or maximum is computed in a loop; targets of this kind have selections for them."""
    nodes = postorder(e for s in statements(loop.body) for e in expressions(s))
    return any(isinstance(node, Select) for node in nodes)


def test_sums_of_many_equal_terms_are_not_compared(case, check):
    """Each local is twice the one before it, so the last is a sum of 2**41 terms, which cancel in pairs."""
    with program("doubled", 64) as p:
        a, i = p.read("a", u32, 65), p.global_id(0)
        total = p.let(a[i] - a[i + 1])
        for _ in range(40):
            total = p.let(total + total)
        p.write("out", u32, 64)[i] = select(eq(total, i), a[i] * 3, a[i] + 7)
    check(case(p.build(), {"a": range(1, 66)}, grid=(1, 1, 1)), "loops")
