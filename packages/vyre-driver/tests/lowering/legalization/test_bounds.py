"""Every access is proven, guarded, or a checked load; nothing is ever read or written out of bounds."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.codegen.lower import legalize
from vyre_driver.legalization import guards
from vyre_driver.legalization.lowered import Lowered
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import INTEGERS, bool_, i32, i64, u8, u32
from vyre_foundation.ir.buffer import LengthOf
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.walk import missing, program_expressions
from vyre_foundation.validate import validate


def checked_loads(lowered: Lowered) -> set[str]:
    """The buffers that some kernel still checks loads of."""
    nodes = (n for kernel in lowered.kernels for n in program_expressions(kernel.program))
    return {n.buffer.name for n in nodes if isinstance(n, Load) and n.checked}


@pytest.mark.parametrize("dialect", ["poor", "single", "full", "rich", "loops"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_any_index_of_any_type_is_safe(dtype, dialect, dialects, case, check):
    """Negative and huge indices, on all memories that can be indexed, loads, stores and atomics."""
    if dtype.bits == 64 and dialect == "poor":
        return
    values = [0, 1, 3, 4, 5, 127, 128, 255, 2**31, 2**32 - 1, 2**32, 2**63, -1, -2, -128, -(2**31), -(2**32)]
    indices = np.array([x % 2**dtype.bits for x in values], f"u{dtype.size}").view(dtype.numpy)
    with program("indices", 8) as p:
        at, data = p.read("at", dtype), p.read("data", u32)
        loaded, stored = p.write("loaded", u32, like=at), p.write("stored", u32, 4)
        counted = p.read_write("counted", u32)
        found = p.write("found", u32, like=at)
        table, shared, own = (
            p.constant("table", u32, [7, 8, 9]),
            p.workgroup("shared", u32, 3),
            p.private("own", u32, 3),
        )
        i = p.global_id(0)
        index = p.let(at[i])
        own[index] = i + 1
        p.barrier()
        loaded[i] = data[index] * 1000 + table[index] * 100 + shared[index] * 10 + own[index]
        with p.if_(i == 3):
            stored[index] = i
        found[i] = counted.atomic_add(index, 0)
    launch = case(p.build(), {"at": indices, "data": [1, 2, 3, 4], "counted": [5, 6]}, grid=(3, 1, 1))
    check(launch, dialect)


def test_a_guard_on_the_same_index_proves(dialects, case, check):
    with program("guarded", 8) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_((i < a.length) & (i < b.length)):
            out[i] = a[i] + b[i]
    lowered = check(case(p.build(), {"a": range(11), "b": range(5)}), "full")
    assert checked_loads(lowered) == set()
    assert str(lowered.kernels[0].program).count("if") == 1


def test_the_guard_of_a_store_proves_loads_of_buffers_as_long(case, check):
    with program("alike", 8) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        i = p.global_id(0)
        p.write("out", u32, like=a)[i] = a[i] + b[i]
    assert checked_loads(check(case(p.build(), {"a": range(11), "b": range(5)}), "full")) == {"b"}


@pytest.mark.parametrize(("limit", "checked"), [("rows", set()), ("starts", {"rows"})])
def test_a_rule_that_takes_elements_away_proves_one_direction_only(limit, checked, case, check):
    with program("rows", 8) as p:
        starts = p.read("starts", u32)
        rows = p.read("rows", u32, LengthOf("starts", plus=-1))
        out = p.write("out", u32, 16)
        i = p.global_id(0)
        with p.if_(i < {"rows": rows, "starts": starts}[limit].length):
            out[i] = starts[i] + rows[i]
    lowered = check(case(p.build(), {"starts": range(11), "rows": range(10)}), "full")
    assert checked_loads(lowered) == checked


PROVEN = {
    "equal": lambda p, a: a == 7,
    "at least": lambda p, a: a >= 1,
    "greater than a load": lambda p, a: a > p.uniform("level", u32, 1)[0],
    "not zero": lambda p, a: a != 0,
    "on the right": lambda p, a: p.let(3, u32) < a,
    "negated": lambda p, a: ~(a == 0),
    "bound": lambda p, a: p.let(a) == 7,
    "beside another": lambda p, a: (a == 7) & (p.global_id(0) != 3),
}
OPEN = {
    "zero": lambda p, a: a == 0,
    "not another number": lambda p, a: a != 7,
    "less": lambda p, a: a < 7,
    "at least zero": lambda p, a: a >= 0,
    "an unknown number": lambda p, a: a == p.uniform("level", u32, 1)[0],
    "one of two": lambda p, a: (a == 7) | (p.global_id(0) != 3),
}


@pytest.mark.parametrize("condition", [*PROVEN, *OPEN])
def test_a_load_that_is_not_zero_proves_its_index(condition, case, check):
    """For buffers that are as long too. A load out of bounds gives zero."""
    with program("marked", 8) as p:
        at, a = p.read("at", u32), p.read("a", u32)
        b, out = p.read("b", u32, like=a), p.write("out", u32, like=at)
        i = p.global_id(0)
        index = p.let(at[i])
        with p.if_((PROVEN | OPEN)[condition](p, a[index])):
            out[i] = b[index] + 1
    inputs = {"at": [0, 1, 9, 2, 3, 2**32 - 1, 4], "a": [7, 0, 7, 5, 9], "b": range(10, 15)}
    if any(buffer.name == "level" for buffer in p.build().inputs):
        inputs = {name: inputs.get(name, [0]) for name in [buffer.name for buffer in p.build().inputs]}
    lowered = check(case(p.build(), inputs), "full")
    assert checked_loads(lowered) - {"at"} == ({"a"} if condition in PROVEN else {"a", "b"})


@pytest.mark.parametrize("limit", [0, -1])
def test_a_load_that_is_not_zero_proves_a_signed_index(limit, case, check):
    with program("marked", 8) as p:
        at, flags = p.read("at", i32), p.read("flags", i32, 5)
        out = p.write("out", i32, 5)
        index = p.let(at[p.global_id(0)])
        with p.if_(flags[index] > limit):
            out[index] = 3
    lowered = check(case(p.build(), {"at": [3, -1, 4, 5, -(2**31), 0], "flags": [1, 1, 1, 0, -1]}), "full")
    (kernel,) = lowered.kernels
    assert str(kernel.program).count("if") == (1 if limit == 0 else 2)


def test_a_flag_proves_its_index(case, check):
    with program("flagged", 8) as p:
        at, flags = p.read("at", u32), p.read("flags", bool_)
        a, b = p.read("a", u32, like=flags), p.read("b", u32, like=flags)
        out = p.write("out", u32, like=at)
        i = p.global_id(0)
        index = p.let(at[i])
        with p.if_(flags[index]):
            out[i] = a[index]
        with p.else_():
            out[i] = b[index]
    inputs = {"at": [3, 9, 1], "flags": [True, False, True, True], "a": range(4), "b": range(4)}
    assert checked_loads(check(case(p.build(), inputs), "full")) - {"at"} == {"flags", "b"}


@pytest.mark.parametrize("jump", ["return", "nested"])
def test_what_leaves_proves_the_rest(jump, case, check):
    with program("leaving", 8) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(i >= a.length):
            if jump == "nested":
                with p.region("leave"):
                    p.return_()
            else:
                p.return_()
        out[i] = a[i]
    assert checked_loads(check(case(p.build(), {"a": range(11)}), "full")) == set()


def test_loops_over_a_length_prove(case, check):
    with program("scan", 1) as p:
        a = p.read("a", u32)
        total = p.var(0, u32)
        with p.range(0, a.length) as k:
            total.set(total + a[k])
        p.write("out", u32, 1)[0] = total.get()
    assert checked_loads(check(case(p.build(), {"a": range(11)}), "full")) == set()


def test_guards_bound_what_indices_are_made_of(case, check):
    """l < d <= 128 bounds l + d; d <= l keeps l - d from wrapping."""
    with program("tree", 256) as p:
        s, l = p.workgroup("s", u32, 256), p.local_id(0)
        s[l] = l * l
        p.barrier()
        with p.range(0, 8, name="step") as step:
            d = p.let(apply("shr", p.let(128, u32), step))
            with p.if_(l < d):
                s[l] = s[l] + s[l + d]
            p.barrier()
        y = p.var(0, u32)
        with p.if_(l >= 16):
            y.set(s[l - 16])
        p.write("out", u32, 256)[l] = s[0] + y.get()
    assert checked_loads(check(case(p.build(), {}), "full")) == set()


@pytest.mark.parametrize("dialect", ["full", "loops"])
def test_a_negative_index_below_the_length_is_out_of_bounds(dialect, case, check):
    """The condition speaks of one side only."""
    with program("signed", 4) as p:
        at, a = p.read("at", i32), p.read("a", u32, 8)
        out = p.write("out", u32, like=at)
        i = p.global_id(0)
        index = p.let(at[i])
        with p.if_(index < 8):
            out[i] = a[index] + 1
    lowered = check(case(p.build(), {"at": [-1, 3, 7, 8, -(2**31), 0], "a": range(8)}), dialect)
    assert checked_loads(lowered) == {"at", "a"} if dialect == "full" else {"a"}


def test_mutable_indices_prove_nothing(case, check):
    with program("mutable", 1) as p:
        a = p.read("a", u32, 4)
        out = p.write("out", u32, 2)
        v = p.var(2, u32)
        with p.if_(v < 4):
            v.set(v + 30)
            out[0] = a[v] + 5
        out[1] = v.get()
    check(case(p.build(), {"a": [1, 2, 3, 4]}), "full")


def test_an_index_from_memory_is_read_once(dialects, case):
    """Its guard and its store must see the same, whatever else happens to the memory."""
    with program("once", 4) as p:
        at = p.read_write("at", u32)
        p.write("out", u32, like=at)[at[p.global_id(0)]] = 1
    lowered = case(p.build(), {"at": [3, 2, 1, 0]}).lower(dialects["full"].target())
    assert str(lowered.kernels[0].program).count("at[") == 1


def test_an_atomic_out_of_bounds_finds_zero(case, check):
    with program("old", 2) as p:
        c = p.read_write("c", u32)
        out = p.write("out", u32, 8)
        out[0] = c.atomic_exchange(5, 9) + 40
        out[1] = c.atomic_compare_exchange(1, 8, 3)
    launch = case(p.build(), {"c": [7, 8]}, grid=(1, 1, 1))
    outcome = launch.run_lowered(check(launch, "single"))
    assert outcome["out"][0] == 40


def test_proven_wide_indices_lose_their_upper_half(dialects, case):
    with program("wide", 4) as p:
        a = p.read("a", u8, 100)
        p.write("out", u8, 100)[0] = a[p.local_id(0).cast(i64) + 3]
    text = str(case(p.build(), {"a": range(100)}).lower(dialects["full"].target()).kernels[0].program)
    assert "a[unchecked u32(" in text


def test_nested_indices_are_looked_into_once(monkeypatch, dialects):
    """The visits of nodes grow with the depth of the nest, not with its square."""
    visits = 0

    def counting(root, known):
        nonlocal visits
        for node in missing(root, known):
            visits += 1
            yield node

    monkeypatch.setattr(guards, "missing", counting)
    counts = []
    for depth in (100, 200):
        with program("nested", 8) as p:
            data = p.read("data", u32)
            out = p.write("out", u32, like=data)
            found = p.global_id(0)
            for _ in range(depth):
                found = data[found]
            out[0] = found
        visits = 0
        source = p.build()
        legalize(source, validate(source), dialects["full"].target())
        counts.append(visits)
    assert counts[0] > 100
    assert counts[1] < 3 * counts[0]
