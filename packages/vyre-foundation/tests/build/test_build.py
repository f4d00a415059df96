"""The builder: Python in, the program that it says out."""

from collections.abc import Callable
from contextlib import ExitStack
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from vyre_foundation import (
    BuildError,
    DeclarationError,
    InvalidProgram,
    LengthOf,
    LiteralOutOfRange,
    Per,
    PerLaunch,
    Program,
    ProgramBuilder,
    TypeMismatch,
    Value,
    apply,
    call,
    constant,
    dialects,
    program,
    select,
)
from vyre_foundation.dialects import Composition
from vyre_foundation.dialects.attributes import AttrSchema, AttrType, BadAttribute
from vyre_foundation.dtype import DTYPES, DType, bf16, bool_, f16, f32, f64, i8, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir import Apply, Cast, Expr, Literal
from vyre_foundation.ops import OPS

Uses = list[Callable[[], object]]


def text(p: ProgramBuilder) -> str:
    """The statements of the program so far."""
    lines = str(p.build_unchecked()).splitlines()
    start = lines.index("") + 1 if "" in lines else 1
    return dedent("\n".join(lines[start:-1]))


def lines(source: str) -> str:
    return dedent(source).strip("\n")


@pytest.fixture
def p() -> ProgramBuilder:
    return program("p")


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_operators_are_rows_of_the_op_table(p: ProgramBuilder) -> None:
    a, out = p.read("a", u32), p.write("out", u32, 4)
    f, flag = p.read("f", f32), p.read("flag", bool_)
    x, y = a[0], a[1]
    values = [
        *(x + y, x - y, x * y, x // y, x % y, f[0] / f[1], x & y, x | y, x ^ y, x << y, x >> y),
        *(x == y, x != y, x < y, x <= y, x > y, x >= y, -x, ~x, abs(x), ~flag[0], flag[0] & flag[1]),
    ]
    assert [repr(v.expr) for v in values] == [
        *("a[0] + a[1]", "a[0] - a[1]", "a[0] * a[1]", "a[0] / a[1]", "a[0] % a[1]", "f[0] / f[1]", "a[0] & a[1]"),
        *("a[0] | a[1]", "a[0] ^ a[1]", "a[0] << a[1]", "a[0] >> a[1]", "a[0] == a[1]", "a[0] != a[1]", "a[0] < a[1]"),
        *(
            "a[0] <= a[1]",
            "a[0] > a[1]",
            "a[0] >= a[1]",
            "-a[0]",
            "~a[0]",
            "abs(a[0])",
            "!flag[0]",
            "flag[0] & flag[1]",
        ),
    ]
    out[0] = x
    assert p.build().name == "p"


def test_numbers_take_the_type_of_the_other_operand(p: ProgramBuilder) -> None:
    x, f, b = p.read("x", u32)[0], p.read("f", f16)[0], p.read("b", i8)[0]
    shown = [2 + x, 2 - x, 2 * x, 7 // x, 7 % x, 1 / f, 3 & x, 3 | x, 3 ^ x, 1 << x, 1 >> x, f * 0.1, b - -128, x > 5]
    assert [repr(v.expr) for v in shown] == [
        *("2 + x[0]", "2 - x[0]", "2 * x[0]", "7 / x[0]", "7 % x[0]", "1.0 / f[0]", "3 & x[0]", "3 | x[0]", "3 ^ x[0]"),
        *("1 << x[0]", "1 >> x[0]", "f[0] * 0.1", "b[0] - -128", "x[0] > 5"),
    ]
    assert all(a.dtype is f16 for a in (f * 2).expr.args)
    with pytest.raises(LiteralOutOfRange, match="256 is not a value of i8"):
        b + 256
    with pytest.raises(LiteralOutOfRange, match=r"0\.5 is not a value of u32"):
        x + 0.5


@pytest.mark.parametrize("number", [np.uint32(7), np.int64(7), np.uint8(7), np.float32(7), np.bool_(True), 7])
def test_numpy_scalars_are_numbers(p: ProgramBuilder, number: float) -> None:
    x = p.read("x", u32)[0]
    assert (x + number).expr is Apply(OPS["add"], x.expr, Literal(u32, int(number)))
    assert (number + x).expr is Apply(OPS["add"], Literal(u32, int(number)), x.expr)


def test_division_says_what_it_means(p: ProgramBuilder) -> None:
    u, i, f = p.read("u", u32)[0], p.read("i", i32)[0], p.read("f", f32)[0]
    for divide in (lambda: i // 2, lambda: i % 2):
        with pytest.raises(BuildError, match=r"means something else .*Fix: write vy\.div and vy\.rem, which truncate"):
            divide()
    for divide, written in (
        (lambda: i / 2, r"vy\.floor_div\(x, y\) or vy\.div\(x, y\), which"),
        (lambda: 2 / i, r"vy\.floor_div\(x, y\) or"),
        (lambda: u / 2, "x // y for a whole number, or convert to a type of floats"),
    ):
        with pytest.raises(BuildError, match=rf"means something else .*Fix: write {written}"):
            divide()
    for divide, written in ((lambda: f // 2, r"vy\.floor\(x / y\)"), (lambda: f % 2, r"x - vy\.floor\(x / y\) \* y")):
        with pytest.raises(BuildError, match=rf"means something else .*Fix: write {written}, where"):
            divide()
    assert repr(apply("div", i, 2).expr) == "i[0] / 2"


def test_values_have_no_truth_and_no_hash(p: ProgramBuilder) -> None:
    x = p.read("x", u32)[0]
    v = p.var(0, u32)
    for truth in (lambda: bool(x == 1), lambda: x and x, lambda: not x, lambda: 0 < x < 5, lambda: x in [1, 2]):
        with pytest.raises(BuildError, match=r"is not known while the program is built\. Fix: use p\.if_"):
            truth()
    for value in (x, v):
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)
    with pytest.raises(BuildError, match="is not known while"):
        bool(v)


def test_types_do_not_mix(p: ProgramBuilder) -> None:
    u, i = p.read("u", u32)[0], p.read("i", i32)[0]
    with pytest.raises(
        TypeMismatch, match=r"add got \(u32, i32\), expected operands of one type\. Fix: cast to i32 or"
    ):
        u + i
    with pytest.raises(
        TypeMismatch, match=r"got values of u32, i32, expected one type\. Fix: convert the others with \.cast\(i32\)"
    ):
        select(u > 1, u, i)
    with pytest.raises(TypeMismatch, match=r"got a value of i32, expected u32\. Fix: convert it with \.cast\(u32\)"):
        p.write("out", u32, 4)[0] = i
    with pytest.raises(BuildError, match="got str, expected a value or a number"):
        u + "1"  # type: ignore[operator]
    with pytest.raises(BuildError, match=r"none of the operands has a type\. Fix: .*as in vy.u32\(1\)"):
        apply("add", 1, 2)


def test_conversions(p: ProgramBuilder) -> None:
    x = p.read("x", u32)[0]
    assert x.cast(u32) is x
    assert x.bitcast(u32) is x
    assert x.cast(f32).expr is Cast(f32, x.expr)
    assert repr(x.bitcast(f32)) == "<f32 bitcast<f32>(x[0])>"
    assert constant(i64, -5).dtype is i64
    with pytest.raises(TypeMismatch, match="bitcast got u32"):
        x.bitcast(f64)


def test_selection(p: ProgramBuilder) -> None:
    x = p.read("x", f32)[0]
    assert repr(select(x < 0, -1, x).expr) == "select(x[0] < 0.0, -1.0, x[0])"
    assert repr(select(True, x, 2).expr) == "select(true, x[0], 2.0)"
    with pytest.raises(TypeMismatch, match="got a value of f32, expected bool"):
        select(x, x, x)
    with pytest.raises(BuildError, match=r"none of the operands has a type\. Fix: .*as in vy\.u32\(1\)$"):
        select(x < 0, 1, 2)
    with pytest.raises(BuildError, match=r"none of the operands has a type\. Fix: .*as in vy\.f32\(0\.5\)$"):
        select(x < 0, 1, 0.5)


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_declarations() -> None:
    p = program("declarations", (8, 4), 16)
    a = p.read("a", u32)
    p.read("b", f32, 16)
    p.write("c", u64, like=a)
    p.write("d", u8, LengthOf("a", 3, 2, 1), output_range=(0, 4))
    p.read_write("e", i32)
    p.uniform("f", f64, 2)
    p.workgroup("g", u16, 32)
    p.private("h", i8, 3)
    p.scratch("i", u32, PerLaunch(Per.WORKGROUP, 2))
    p.persistent("j", u32, like=a)
    p.constant("k", u16, [1, 2, 65535])
    assert (
        str(p.build_unchecked())
        == lines(
            """
        program declarations workgroup(8, 4, 1) subgroup(16) {
          read a: u32[] @0;
          read b: f32[16] @1;
          write c: u64[len(a)] @2;
          write d: u8[ceil(len(a) * 3 / 2) + 1] @3 bytes(0, 4);
          read_write e: i32[] @4;
          uniform f: f64[2] @5;
          scratch i: u32[2 per workgroup] @6;
          persistent j: u32[len(a)] @7;
          workgroup g: u16[32];
          private h: i8[3];
          constant k: u16[3] = hex
            "01000200ffff";
        }
        """
        )
        + "\n"
    )


def test_declarations_that_are_refused(p: ProgramBuilder) -> None:
    a = p.read("a", u32)
    with pytest.raises(BuildError, match="the name 'a' is taken"):
        p.write("a", u32, 4)
    with pytest.raises(BuildError, match="has both a count and a buffer"):
        p.write("b", u32, 4, like=a)
    with pytest.raises(DeclarationError, match="no input is bound to it"):
        p.write("b", u32)
    for sizes in ((), (1, 2, 3, 4)):
        with pytest.raises(BuildError, match=f"workgroup_size has {len(sizes)} axes"):
            program("p", sizes)


def test_what_may_be_done_with_memory(p: ProgramBuilder) -> None:
    a, b = p.read("a", u32), p.write("b", u32, 4)
    with pytest.raises(BuildError, match="'a' is read-only"):
        a[0] = 1
    with pytest.raises(BuildError, match="'b' is write-only"):
        b[0]
    with pytest.raises(BuildError, match=r"index -1 is out of bounds\. Fix: .*buffer\.length - 1"):
        a[-1]
    with pytest.raises(BuildError, match="index -1 is out of bounds"):
        a[np.int64(-1)]
    with pytest.raises(TypeMismatch, match="the index of 'a' got bool"):
        a[a[0] == 1]
    with pytest.raises(BuildError, match=r"not known while the program is built\. Fix: use `\.length`"):
        len(a)
    with pytest.raises(BuildError, match=r"loop with p\.range"):
        list(a)  # type: ignore[call-overload]
    assert repr(a.length.expr) == "len(a)"
    assert repr(a[np.int64(3)].expr) == "a[3]"
    assert repr(a[a[0].cast(i64)].expr) == "a[i64(a[0])]"


@pytest.mark.parametrize("dtype", DTYPES)
def test_tables_of_every_type(p: ProgramBuilder, dtype: object) -> None:
    table = p.constant("t", dtype, [0, 1, 1, 0])  # type: ignore[arg-type]
    assert table.decl.data == np.array([0, 1, 1, 0]).astype(table.dtype.numpy).tobytes()
    assert p.constant("e", dtype, []).decl.count == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "values", "data"),
    [
        (u16, np.array([[1, 2], [3, 4]], ">u2"), "0100020003000400"),
        (u64, [2**64 - 1], "ff" * 8),
        (i64, [-(2**63), 1], "00" * 7 + "80" + "01" + "00" * 7),
        (u8, [True, False], "0100"),
        (i8, np.arange(-2, 2), "feff0001"),
        (u32, [2.0], "02000000"),
        (f32, [1, -2], "0000803f000000c0"),
        (f16, [0.1, np.inf], "662e007c"),
        (bf16, [0.1, np.inf], "cd3d807f"),
        (bf16, [1 + 2**-8 + 2**-40], "813f"),
        (bf16, [2**60 + 2**52 + 1], "815d"),
        (bool_, [0, 1], "0001"),
        (f64, np.float32([0.1]), "000000a09999b93f"),
    ],
)
def test_tables(p: ProgramBuilder, dtype: object, values: object, data: str) -> None:
    decl = p.constant("t", dtype, values).decl  # type: ignore[arg-type]
    assert decl.data is not None
    assert decl.data.hex() == data


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (u8, [256]),
        (u8, [-1]),
        (u32, [0.5]),
        (i8, [1, 200]),
        (bool_, [2]),
        (u32, [np.nan]),
        (i32, [1e20]),
        (u64, [2**64]),
        (u64, [2.0**64]),
        (bf16, [0.1, 1e39]),
        (f16, [np.inf, 1e6]),
        (f16, [10**400, -(10**400)]),
    ],
)
def test_tables_that_do_not_fit(p: ProgramBuilder, dtype: object, values: object) -> None:
    with pytest.raises(BuildError, match=r"the value .* of 't' does not fit"):
        p.constant("t", dtype, values)  # type: ignore[arg-type]


# ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_reads_of_memory_that_can_change_are_bound_where_they_stand(p: ProgramBuilder) -> None:
    a, m = p.read("a", u32), p.read_write("m", u32)
    x = m[0]
    m[0] = a[0]
    m[1] = x + x
    assert text(p) == lines(
        """
        let t0 = m[0];
        m[0] = a[0];
        m[1] = t0 + t0;
        """
    )


def test_a_value_that_is_used_at_once_needs_no_name(p: ProgramBuilder) -> None:
    m = p.read_write("m", u32)
    m[0] += 1
    m[m[1]] = m[2]
    assert text(p) == lines(
        """
        m[0] = m[0] + 1;
        m[m[1]] = m[2];
        """
    )


def test_a_value_is_not_moved_over_a_store_or_into_a_body(p: ProgramBuilder) -> None:
    m = p.read_write("m", u32)
    x = m[0]
    m[1] = 5
    m[2] = x
    y = m[3]
    with p.range(0, 4) as i:
        m[i] = y
    z = m[4]
    with p.if_(z == 0):
        p.return_()
    assert text(p) == lines(
        """
        let t0 = m[0];
        m[1] = 5;
        m[2] = t0;
        let t1 = m[3];
        for i0 in 0..4 {
          m[i0] = t1;
        }
        if m[4] == 0 {
          return;
        }
        """
    )


def test_mutable_locals(p: ProgramBuilder) -> None:
    out = p.write("out", u32, 4)
    v = p.var(1, u32)
    w = p.var(v, name="w")
    before = v.get()
    v.set(v * 3 + w)
    v.set(5)
    out[v] = before + v.cast(f32).cast(u32) + (1 - v)
    assert text(p) == lines(
        """
        var v0 = 1;
        var w0 = v0;
        let t1 = v0;
        v0 = v0 * 3 + w0;
        v0 = 5;
        out[v0] = t1 + u32(f32(v0)) + (1 - v0);
        """
    )


def test_names(p: ProgramBuilder) -> None:
    p.read("t0", u32)
    assert [repr(p.let(1, u32, name=name).expr) for name in ("t", "t", "x", "t")] == ["t1", "t2", "x0", "t3"]
    with pytest.raises(BuildError, match="has no type here"):
        p.let(1)


def test_a_range_with_one_bound_begins_at_0(p: ProgramBuilder) -> None:
    a, out = p.read("a", i32), p.write("out", i32, 4)
    with p.range(4) as i, p.range(a[i], name="j") as j:
        out[i] = j
    assert text(p) == lines(
        """
        for i0 in 0..4 {
          for j0 in 0..a[i0] {
            out[i0] = j0;
          }
        }
        """
    )


def test_control(p: ProgramBuilder) -> None:
    a, out = p.read("a", i32), p.write("out", i32, 4)
    with p.if_(a[0] < 0), p.range(a[0], 10, 2) as i:
        out[i] = i
        with p.if_(i == 4):
            p.continue_()
        with p.else_():
            p.break_()
    with p.else_(), p.region("other"):
        p.trap(7, "negative")
    p.barrier()
    p.grid_barrier()
    with p.range(0, 8, dtype=u8, name="k"):
        pass
    p.return_()
    assert text(p) == lines(
        """
        if a[0] < 0 {
          for i0 in a[0]..10 step 2 {
            out[i0] = i0;
            if i0 == 4 {
              continue;
            } else {
              break;
            }
          }
        } else {
          region "other" {
            trap(7, "negative");
          }
        }
        barrier workgroup;
        barrier grid;
        for k0 in 0:u8..8 {
        }
        return;
        """
    )


def test_else_belongs_to_an_if(p: ProgramBuilder) -> None:
    def otherwise() -> None:
        with p.else_():
            p.return_()

    with pytest.raises(BuildError, match="else_ does not follow an if_ block"):
        otherwise()
    with p.if_(True):
        pass
    otherwise()
    with pytest.raises(BuildError, match="else_ does not follow an if_ block"):
        otherwise()


def test_atomics(p: ProgramBuilder) -> None:
    m, w = p.read_write("m", u32), p.workgroup("w", i32, 4)
    old = m.atomic_add(0, 1)
    m.atomic_max(1, old)
    for atomic in (w.atomic_and, w.atomic_or, w.atomic_xor, w.atomic_min, w.atomic_exchange):
        atomic(2, -1)
    seen = m.atomic_compare_exchange(3, 4, 5)
    m[0] = seen
    assert text(p) == lines(
        """
        let old0 = atomic add(m[0], 1);
        atomic max(m[1], old0);
        atomic and(w[2], -1);
        atomic or(w[2], -1);
        atomic xor(w[2], -1);
        atomic min(w[2], -1);
        atomic exchange(w[2], -1);
        let old7 = atomic compare_exchange(m[3], 5, expected = 4);
        m[0] = old7;
        """
    )


def test_collectives() -> None:
    p = program("p", 64, 32)
    a, out = p.read("a", f32), p.write("out", f32, 64)
    total = p.subgroup("reduce_add", a[p.global_id()])
    out[p.subgroup_lane()] = total + p.subgroup("shuffle_xor", total, 1)
    p.subgroup("ballot", True)
    assert p.subgroup("ballot", a[0] < 1).dtype is u64
    out[p.subgroup_size_()] = 1
    assert text(p) == lines(
        """
        let sub0 = subgroup reduce_add(a[global_id.x]);
        let sub1 = subgroup shuffle_xor(sub0, 1);
        out[subgroup_lane()] = sub0 + sub1;
        subgroup ballot(true);
        subgroup ballot(a[0] < 1.0);
        out[subgroup_size()] = 1.0;
        """
    )
    with pytest.raises(
        BuildError, match=r"got 'reduce_sum', expected a collective of the subgroup\. Fix: use one of reduce_add, "
    ):
        p.subgroup("reduce_sum", total)
    with pytest.raises(BuildError, match="has no type here"):
        p.subgroup("reduce_add", 1)


def test_places(p: ProgramBuilder) -> None:
    places = [p.global_id(), p.local_id(1), p.workgroup_id(2), p.num_workgroups(0)]
    assert [repr(place.expr) for place in places] == ["global_id.x", "local_id.y", "workgroup_id.z", "num_workgroups.x"]
    assert all(place.dtype is u32 for place in places)
    with pytest.raises(TypeMismatch, match="has no axis 3"):
        p.global_id(3)


def test_indirect_dispatch(p: ProgramBuilder) -> None:
    p.indirect_dispatch(p.read("grid", u32), 3)
    assert text(p) == "indirect_dispatch grid[3];"


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def scale() -> object:
    def expand(x: Expr, n: Expr) -> Expr:
        return Apply(OPS["mul"], x, Cast(f32, n))

    dialects.register([Composition("test.scale", {(f32, u32): f32}, expand, "x * n")])
    yield
    dialects.unregister(["test.scale"])


def test_calls_take_operands_of_their_own_types(p: ProgramBuilder, scale: object) -> None:
    x, n = p.read("x", f32)[0], p.read("n", u32)[0]
    assert repr(call("test.scale", x, n).expr) == "call<f32> test.scale(x[0], n[0])"
    with pytest.raises(dialects.SignatureMismatch, match=r"test\.scale got \(u32, u32\), expected \(f32, u32\)"):
        call("test.scale", n, n)
    with pytest.raises(dialects.UnknownCallee, match=r"no installed dialect defines 'test\.scales'"):
        call("test.scales", x)


@pytest.fixture
def times() -> object:
    def expand(x: Expr, n: Expr) -> Expr:
        return Apply(OPS["mul"], x, n)

    attrs = (AttrSchema("n", AttrType(u32), 2),)
    dialects.register([Composition("test.times", {(u32, u32): u32}, expand, "x * n", attrs=attrs)])
    yield
    dialects.unregister(["test.times"])


@pytest.mark.parametrize("n", [5, np.uint8(5), u32(5), constant(u32, 5)])
def test_an_attribute_is_a_number_however_it_is_written(p: ProgramBuilder, times: object, n: object) -> None:
    assert repr(call("test.times", p.read("x", u32)[0], n=n).expr) == "call<u32> test.times(x[0], 5)"


def test_an_attribute_is_no_value_of_the_program(p: ProgramBuilder, times: object) -> None:
    x = p.read("x", u32)
    words = (
        r"attribute 'n' got x\[0\], which is known only when the program runs\. Fix: write a constant of u32, or select"
    )
    with pytest.raises(BadAttribute, match=words):
        call("test.times", x[1], n=x[0])
    with pytest.raises(BadAttribute, match=r"attribute 'n' got -1.*, expected u32"):
        call("test.times", x[1], n=i32(-1))


# ── the result ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["t", "total", "sum", "t0"])
def test_a_name_of_a_local_stays_whatever_it_is(name: str) -> None:
    def recorded(name: str) -> Program:
        with program("p") as p:
            a = p.read("a", u32)
            out = p.write("out", u32, like=a)
            i = p.global_id(0)
            twice = p.let(a[i] * 2, name=name)
            out[i] = twice + 1
        return p.build()

    found = recorded(name)
    assert f"let {name}0 = a[global_id.x] * 2;" in str(found)
    assert found.fingerprint() == recorded("x").fingerprint()


def test_building_validates() -> None:
    with program("p") as p:
        p.break_()
    assert p.build_unchecked().body
    with pytest.raises(InvalidProgram):
        p.build()


def test_blocks_must_be_closed(p: ProgramBuilder) -> None:
    block = p.if_(True)
    block.__enter__()
    with pytest.raises(BuildError, match="a block is still open"):
        p.build_unchecked()
    with pytest.raises(BuildError, match="a block is still open at the end"):
        p.__exit__(None, None, None)


def test_errors_come_through_blocks(p: ProgramBuilder) -> None:
    def fail() -> None:
        with p, p.if_(True), p.range(0, 4):
            raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        fail()
    assert p.build_unchecked().body == ()


def test_building_twice_gives_equal_programs(p: ProgramBuilder) -> None:
    out = p.write("out", u32, 4)
    out[0] = 1
    so_far = p.build_unchecked()
    assert p.build_unchecked() == so_far
    out[1] = 2
    first = p.build()
    assert p.build() == first != so_far


@pytest.mark.parametrize(("dtype", "number"), [
    (f32, 1e300), (f32, np.float64(-1e300)), (f16, 65520), (f16, np.int64(100_000)), (bf16, 10**39), (f64, 10**400),
])  # fmt: skip
def test_a_finite_number_does_not_become_an_infinity(p: ProgramBuilder, dtype: DType, number: Any) -> None:
    x, out = p.read("x", dtype), p.read_write("out", dtype, 4)
    v = p.var(x[0])
    uses: Uses = [
        lambda: x[0] * number,
        lambda: number * x[0],
        lambda: x[0] < number,
        lambda: apply("max", x[0], number),
        lambda: select(x[0] < 1, x[0], number),
        lambda: constant(dtype, number),
        lambda: p.let(number, dtype),
        lambda: v.set(number),
        lambda: out.__setitem__(0, number),
    ]
    for use in uses:
        with pytest.raises(LiteralOutOfRange, match=rf"is not a value of {dtype}\. Fix: use a type that holds it, or"):
            use()
    with pytest.raises(BuildError, match=rf"of 'table' does not fit {dtype}\. Fix: use a wider type"):
        p.constant("table", dtype, [1, number])


@pytest.mark.parametrize(("dtype", "bits"), [(f16, 0x7D01), (bf16, 0x7F81)])
@pytest.mark.filterwarnings("error")
def test_tables_take_signalling_nans(p: ProgramBuilder, dtype: DType, bits: int) -> None:
    p.constant("table", dtype, np.array([bits], np.uint16).view(dtype.numpy))


@pytest.mark.parametrize("infinity", [float("inf"), np.float32("-inf")])
def test_an_infinity_stays_one(p: ProgramBuilder, infinity: Any) -> None:
    value = (p.read("x", f16)[0] * infinity).expr
    assert isinstance(value, Apply)
    assert value.args[1] == constant(f16, float(infinity)).expr


def chained(p: ProgramBuilder, size: int) -> Value:
    m = p.read_write("m", u32, 64)
    total = p.let(0, u32)
    for i in range(size):
        total = total + m[i % 64]
    return total


def shared(p: ProgramBuilder, size: int) -> Value:
    a, out = p.read("a", u32, 64), p.write("out", u32, 64)
    total = a[0]
    for i in range(size):
        total = total * 3 + a[i % 64]
        out[i % 64] = total
    return total


@pytest.mark.parametrize("shape", [chained, shared])
def test_large_programs_are_built_in_linear_time(
    shape: Callable[[ProgramBuilder, int], Value], instructions: Callable[..., int]
) -> None:
    def build(size: int) -> int:
        p = program("p")
        p.let(shape(p, size), name="result")
        return instructions(p.build_unchecked)

    assert build(2000) < 4.4 * build(500)


def foreign() -> dict[str, Any]:
    """What reads something of program a."""
    a = program("a", 8)
    x, own = a.read("x", u32), a.private("own", u32, 4)
    v, old = a.var(x[0]), a.let(x[0] * 100)
    with a.range(3) as k:
        pass
    return {
        "local": old,
        "sum": old + 1,
        "reflected": 1 + old,
        "of both": a.global_id(0) * old,
        "negative": -old,
        "cast": old.cast(f32).cast(u32),
        "typed": u32(old),
        "bits": old.bitcast(i32).bitcast(u32),
        "chosen": select(old == 1, constant(u32, 1), constant(u32, 2)),
        "op": apply("max", old, 1),
        "load": x[a.global_id(0)],
        "element": own[0],
        "length": x.length,
        "counter": k,
        "variable": v,
        "scalar": a.scalar("n", u32),
        "shape": a.read("s", u32, shape=("h", "w")).shape[0],
    }


@pytest.mark.parametrize("name", foreign())
def test_a_value_of_another_program_is_refused(name: str) -> None:
    given = foreign()[name]
    b = program("b", 8)
    x, out = b.read("x", u32), b.read_write("out", u32, 8)
    v, new = b.var(x[0]), b.let(x[0] + 1)
    flag = given == 1
    uses: Uses = [
        lambda: out.__setitem__(0, given),
        lambda: out.__setitem__(given, 1),
        lambda: x[given],
        lambda: out.atomic_add(0, given),
        lambda: out.atomic_compare_exchange(0, given, 1),
        lambda: v.set(given),
        lambda: v + given,
        lambda: new + given,
        lambda: given < new,
        lambda: apply("max", new, given),
        lambda: select(new == 1, given, 1),
        lambda: select(flag, new, 1),
        lambda: b.let(given),
        lambda: b.var(given),
        lambda: b.if_(flag),
        lambda: b.elif_(flag),
        lambda: b.range(given),
        lambda: b.range(new, given),
        lambda: b.trap(given, "t"),
        lambda: b.subgroup("reduce_add", given),
    ]
    before = str(b.build_unchecked())
    for use in uses:
        with pytest.raises(BuildError, match=r"got a value of another program, '.', in program '.'\. Fix: make it in"):
            use()
    assert str(b.build_unchecked()).count("\n") <= before.count("\n") + 1  # `v +` reads v


def test_a_buffer_of_another_program_is_refused() -> None:
    x, b = program("a", 8).read("x", u32, 3), program("b", 8)
    for use in (lambda: b.write("out", u32, like=x), lambda: b.indirect_dispatch(x)):
        with pytest.raises(BuildError, match=r"got the buffer 'x' of another program, 'a', in program 'b'\. Fix: "):
            use()


def test_values_without_a_program_are_values_of_any() -> None:
    a, b = program("a", 8), program("b", 8)
    shared = a.global_id(0) * 2 + constant(u32, 1)
    for p in (a, b):
        x, out = p.read("x", u32), p.write("out", u32, 8)
        out[shared] = x[shared] + shared
        p.build()


def test_a_condition_under_which_nothing_is_recorded_is_refused(p: ProgramBuilder) -> None:
    x, out = p.read("x", u32), p.write("out", u32, 8)
    result = x[0]
    with p.if_(x[0] == 1):
        result = x[1] * 100
    out[0] = result
    said = r"test_build\.py:\d+: nothing is recorded in the block of this condition\. Fix: store or \.set"
    with pytest.raises(BuildError, match=said):
        p.build()


def test_so_is_an_empty_last_branch_in_a_loop(p: ProgramBuilder) -> None:
    x, out = p.read("x", u32), p.write("out", u32, 8)
    with p.range(3):
        with p.if_(x[0] == 1):
            out[0] = 1
        with p.elif_(x[0] == 2):
            pass
    with pytest.raises(BuildError, match="nothing is recorded in the block of this condition"):
        p.build()


def test_an_empty_branch_before_another_one_means_something(p: ProgramBuilder) -> None:
    x, out = p.read("x", u32), p.write("out", u32, 8)
    with p.if_(x[0] == 1):
        pass
    with p.elif_(x[0] == 2):
        pass
    with p.else_():
        out[0] = 1
    p.build()


@pytest.mark.parametrize("is_built", [False, True], ids=["with", "build"])
def test_a_finished_builder_records_no_more(is_built: bool) -> None:
    p = program("done", 8)
    x, out = p.read("x", u32), p.read_write("out", u32, 8)
    v = p.var(x[0])
    v.set(1)
    out[0] = v
    if is_built:
        before, ended = p.build(), r"build\(\) has given it"
    else:
        with p:
            pass
        before, ended = p.build_unchecked(), "its `with` block has ended"

    def branch() -> None:
        with p.if_(x[0] == 1):
            pass

    uses: Uses = [
        lambda: v.set(77),
        lambda: v + 1,
        lambda: out.__setitem__(1, 3),
        lambda: out[0],
        lambda: out.atomic_add(0, 1),
        lambda: p.let(x[0]),
        lambda: p.var(x[0]),
        lambda: p.read("y", u32),
        p.barrier,
        branch,
    ]
    for use in uses:
        with pytest.raises(BuildError, match=rf"program 'done' records no more: {ended}\. Fix: record within"):
            use()
    assert p.build_unchecked() == before


def test_a_program_that_was_refused_can_be_mended() -> None:
    p = program("mended", 8)
    out = p.write("out", u32, 8)
    v = p.var(1, u32)
    out[0] = v
    with pytest.raises(BuildError, match="never set"):
        p.build()
    v.set(2)
    p.build()


@pytest.mark.parametrize("kind", ["branches", "loops", "a chain"])
def test_what_is_nested_too_deep_is_refused_and_can_be_printed(kind: str) -> None:
    with program("deep") as p, ExitStack() as opened:
        x = p.read_write("x", u32)
        opened.enter_context(p.if_(x[0] > 0))
        for _ in range(1500):
            if kind == "a chain":
                opened.close()
                opened.enter_context(p.elif_(x[0] > 0))
            else:
                opened.enter_context(p.range(2) if kind == "loops" else p.if_(x[0] > 0))
            x.atomic_add(0, p.let(x[1] + 1))
    with pytest.raises(InvalidProgram, match=r"V014 .* inside of more than 64 others"):
        p.build()
    assert str(p.build_unchecked()).count("atomic add(x[0]") == 1500


def test_the_remedy_for_what_may_wrap_is_to_convert_before() -> None:
    with program("bytes") as p:
        x, wide = p.read("x", u8), p.read("y", u32)
        out = p.write("out", u32, like=wide)
        on_the_way = ((x[0] + x[1]) >> 1, (x[0] * x[1]) // 3, select(wide[0] > 1, x[0] + 1, x[0]), p.let(x[0] + x[1]))
        for value in (x[0] + 1, x[0] * x[1], x[0] << 1, -x[0], *on_the_way):
            with pytest.raises(
                TypeMismatch, match=r"convert what it is computed from with \.cast\(u32\): in u8 it may wrap"
            ):
                out[0] = value
            with pytest.raises(
                TypeMismatch, match=r"convert what the others are computed from with \.cast\(u32\): in their"
            ):
                select(wide[0] > 1, value, wide[0])
        with pytest.raises(TypeMismatch, match=r"convert it with \.cast\(u32\)$"):
            out[0] = x[0] >> 1
        with pytest.raises(TypeMismatch, match=r"convert the others with \.cast\(u32\)$"):
            select(wide[0] > 1, x[0] >> 1, wide[0])
