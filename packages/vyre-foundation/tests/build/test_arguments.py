"""Every method of the builder and of what it returns, with arguments of wrong kinds: errors that say what to do."""

from __future__ import annotations

import inspect
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import vyre_foundation as v
from vyre_foundation import functions
from vyre_foundation.build import Block, Operators

FIX = re.compile(r"Fix: \S")


class Scene:
    """A program that is being built, with one of everything in it."""

    def __init__(self) -> None:
        self.p = p = v.program("p", 64, 32)
        self.x, self.m, self.out = p.read("x", v.u32), p.read_write("m", v.u32), p.write("out", v.f32, 8)
        self.value, self.real, self.flag = self.x[0], self.x[1].cast(v.f32), self.x[2] > 1
        self.variable = p.var(0, v.u32)
        self.block = p.if_(self.flag)
        self.image = p.read_write("image", v.u32, shape=("h", "w"))


def junk(s: Scene) -> dict[str, object]:
    """What nothing takes, or few things do. A method may accept some of it: it may not fail in another way."""
    return {
        "None": None, "text": "x", "empty text": "", "float": 1.5, "nan": math.nan, "huge": 2**80, "negative": -1,
        "True": True, "list": [1], "tuple": (1, 2), "dict": {}, "set": {1}, "bytes": b"ab", "slice": slice(1),
        "...": ...,
        "object": object(), "class": Decimal, "Decimal": Decimal(1), "complex": 1j, "array": np.ones(2, np.uint32),
        "date": np.datetime64("2020-01-01"), "strings": np.array(["a"]), "np.str_": np.str_("a"), "lambda": lambda: 1,
        "f64 scalar": np.float64(0.5), "value": s.value, "real": s.real, "flag": s.flag, "variable": s.variable,
        "buffer": s.x, "block": s.block, "builder": s.p, "dtype": v.f16, "np.float32": np.float32, "float type": float,
        "np dtype": np.dtype(">f4"), "rule": v.LengthOf("x"), "broken rule": v.LengthOf("x", times="a"),  # type: ignore[arg-type]
        "per launch": v.PerLaunch(v.Per.WORKGROUP), "access": v.Access.READ,
    }  # fmt: skip


def calls(s: Scene) -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Each method and function with arguments that it takes; each of them is replaced by junk in turn."""
    p, x, m, value = s.p, s.x, s.m, s.value
    methods: dict[str, tuple[Callable[..., Any], list[Any]]] = {
        "program": (lambda n, w, s, shape: v.program(n, w, s, shape=shape), ["q", 64, 32, ("h", 4)]),
        "read, shape": (lambda shape: p.read("a", v.u32, shape=shape), [("h", 4)]),
        "write, shape": (lambda shape: p.write("a", v.u32, shape=shape), [("h", 4)]),
        "private, shape": (lambda shape: p.private("a", v.u32, shape=shape), [(4, 4)]),
        "a[y, x]": (lambda y, x: s.image[y, x], [0, 1]),
        "a[y, x] = v": (lambda y, x, v: s.image.__setitem__((y, x), v), [0, 1, 2]),
        "read": (lambda name, dtype, count, like: p.read(name, dtype, count, like=like), ["a", v.u32, None, None]),
        "write": (lambda n, t, c, like, r: p.write(n, t, c, like=like, output_range=r), ["a", v.u32, 4, None, None]),
        "read_write": (
            lambda n, t, c, like, r: p.read_write(n, t, c, like=like, output_range=r),
            ["a", v.u32, 4, None, None],
        ),
        "uniform": (p.uniform, ["a", v.u32, 1]),
        "scalar": (p.scalar, ["a", v.u32]),
        "constant": (p.constant, ["a", v.u32, [1, 2]]),
        "workgroup": (p.workgroup, ["a", v.u32, 4]),
        "private": (p.private, ["a", v.u32, 4]),
        "scratch": (lambda n, t, c, like: p.scratch(n, t, c, like=like), ["a", v.u32, 4, None]),
        "persistent": (lambda n, t, c, like: p.persistent(n, t, c, like=like), ["a", v.u32, 4, None]),
        "global_id": (p.global_id, [0]),
        "local_id": (p.local_id, [0]),
        "workgroup_id": (p.workgroup_id, [0]),
        "num_workgroups": (p.num_workgroups, [0]),
        "let": (p.let, [1, v.u32, "t"]),
        "var": (p.var, [1, v.u32, "t"]),
        "if_": (p.if_, [s.flag]),
        "elif_": (lambda c: _behind_if(p).elif_(c), [s.flag]),
        "while_": (p.while_, [lambda: s.flag, 4, "x"]),
        "range": (p.range, [0, 4, 1, v.u32, "i"]),
        "region": (p.region, ["x"]),
        "at": (p.at, ["x", 1]),
        "trap": (p.trap, [1, "x"]),
        "subgroup": (p.subgroup, ["shuffle", value, 1]),
        "indirect_dispatch": (p.indirect_dispatch, [x, 0]),
        "Array[i]": (x.__getitem__, [0]),
        "Array[i] = x": (m.__setitem__, [0, 1]),
        "atomic_compare_exchange": (m.atomic_compare_exchange, [0, 1, 2]),
        "Value.cast": (value.cast, [v.u8]),
        "Value.bitcast": (value.bitcast, [v.f32]),
        "Mutable.set": (s.variable.set, [1]),
        "Mutable.cast": (s.variable.cast, [v.u8]),
        "Mutable.bitcast": (s.variable.bitcast, [v.f32]),
        "apply": (v.apply, ["add", value, 1]),
        "select": (v.select, [s.flag, value, 1]),
        "literal": (v.constant, [v.u32, 1]),
        "u32": (v.u32, [1]),
        "call": (v.call, ["no.op", value]),
    }
    methods |= {
        name: (getattr(m, name), [0, 1])
        for name in dir(m)
        if name.startswith("atomic_") and name != "atomic_compare_exchange"
    }
    for name in functions.__all__:
        function = getattr(functions, name)
        arity = len(inspect.signature(function).parameters)
        of_floats = v.OPS[name.rstrip("_")].accepts[0].is_float
        methods[f"functions.{name}"] = (function, [s.real if of_floats else value] * arity)
    return methods


def _behind_if(p: v.ProgramBuilder) -> v.ProgramBuilder:
    with p.if_(p.global_id(0) > 1):
        pass
    return p


NAMES = sorted(calls(Scene()))


def refused(call: Callable[[], Any]) -> str:
    """What an error of vyre's says, "" if there is none; any other error fails."""
    said = ""
    try:
        call()
    except v.VyreError as error:
        said = str(error)
    assert not said or FIX.search(said), said
    return said


@pytest.mark.parametrize("name", NAMES)
def test_arguments_of_wrong_kinds_are_refused_with_a_remedy(name: str) -> None:
    arguments = calls(Scene())[name][1]
    refusals = 0
    for place in range(len(arguments)):
        for kind in junk(Scene()):
            scene = Scene()
            method, given = calls(scene)[name]
            given[place] = junk(scene)[kind]
            refusals += bool(refused(lambda: method(*given)))  # noqa: B023
    assert refusals


def test_every_method_is_in_the_table() -> None:
    scene = Scene()
    public = {name for name, _ in inspect.getmembers(v.ProgramBuilder) if not name.startswith("_")}
    public |= {name for name in vars(v.Array) if name.startswith("atomic_")}
    without_arguments = {
        *("subgroup_lane", "subgroup_size_", "else_", "break_", "continue_", "return_", "barrier", "grid_barrier"),
        *("build", "build_unchecked", "index", "shape"),
    }
    assert public - without_arguments <= set(calls(scene))


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt),
    *(operator.le, operator.gt, operator.ge, operator.eq, operator.ne, divmod, operator.iadd, operator.ior),
    *(operator.contains, operator.getitem),
]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("side", ["value", "variable", "buffer"])
def test_operators_with_wrong_operands_are_refused_with_a_remedy(op: Callable[[Any, Any], Any], side: str) -> None:
    for kind in junk(Scene()):
        scene = Scene()
        other = junk(scene)[kind]
        ours = {"value": scene.value, "variable": scene.variable, "buffer": scene.x}[side]
        refused(lambda: op(ours, other))  # noqa: B023
        is_ours = isinstance(other, (Operators, v.Array)) or other is scene.p
        by_us = op in (operator.contains, operator.getitem) or kind in ("list", "tuple", "text", "empty text", "bytes")
        if not (is_ours or by_us):
            refused(lambda: op(other, ours))  # noqa: B023


UNARY: dict[str, Callable[[Any], Any]] = {
    "float": float, "int": int, "complex": complex, "round": round, "len": len, "list": list, "index": operator.index,
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "sqrt": math.sqrt, "np.sqrt": np.sqrt, "range": range,
    "np.array": np.asarray, "np.where": lambda x: np.where(x, 1, 2), "pow": lambda x: x**2, "rpow": lambda x: 2**x,
    "np.maximum": lambda x: np.maximum(x, np.ones(2)), "np.sum": np.sum, "store": lambda x: operator.setitem(x, 0, 1),
    "unpack": lambda x: (lambda *_: 0)(*x), "bool": bool,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("side", ["value", "variable"])
def test_what_python_and_numpy_ask_of_numbers_is_refused_with_a_remedy(name: str, side: str) -> None:
    scene = Scene()
    assert refused(lambda: UNARY[name](getattr(scene, side)))


# ── what is accepted ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", v.dtype.DTYPES, ids=str)
def test_types_of_numpy_are_types(dtype: v.DType) -> None:
    p = v.program("p")
    named: Any = ml_dtypes.bfloat16 if dtype is v.bf16 else dtype.numpy.type
    assert p.read("a", named).dtype is dtype
    assert p.read("b", dtype.numpy).dtype is dtype
    assert v.constant(named, 1).dtype is dtype


@pytest.mark.parametrize(
    ("op", "sign"), [(np.add, "+"), (np.subtract, "-"), (np.bitwise_xor, "^"), (np.floor_divide, "/"), (np.less, ">")]
)
def test_numpy_scalars_stand_on_the_left(op: np.ufunc, sign: str) -> None:
    value = v.program("p").read("x", v.u32)[0]
    shown = repr(op(np.uint32(7), value).expr)
    assert shown == (f"x[0] {sign} 7" if op is np.less else f"7 {sign} x[0]")
    assert repr(np.uint32(7) - value) == "<u32 7 - x[0]>"


def test_a_sign_changes_nothing() -> None:
    value = v.program("p").read("x", v.f32)[0]
    assert (+value).expr is value.expr


MESSAGES: Mapping[str, tuple[Callable[[Scene], Any], str]] = {
    "two indices": (
        lambda s: s.x[s.value, 0],
        r"'x', which has one axis\. Fix: declare its axes, as in shape=\('h', 'w'\), or compute the index",
    ),
    "slice": (lambda s: s.x[1:], "Fix: load and store one element at a time"),
    "type of Python": (lambda s: s.value.cast(float), "got Python's type float, expected one that says its width"),
    "name of a type": (
        lambda s: s.p.read("a", "f32"),
        r"got 'f32', .* Fix: use vy\.f32, or 'float32', which is NumPy's",
    ),
    "lengths of axes": (
        lambda s: s.p.workgroup("a", v.f32, (4, 8)),
        r"got tuple as the length of 'a', .* Fix: pass the lengths of its axes as shape=\(4, 8\)$",
    ),
    "lengths of axes of an input": (lambda s: s.p.read("a", v.f32, [4, 8]), r"Fix: .* as shape=\(4, 8\)$"),
    "abstract type": (lambda s: s.p.read("a", np.floating), "got the type floating, .* Fix: use one of bool_, u8"),
    "name of 8 bytes": (lambda s: s.value.cast("i8"), r"got 'i8', expected a type\. Fix: use vy\.i8, or 'int8', "),
    "like a name": (lambda s: s.p.write("a", v.u32, like="x"), "got 'x' as like, expected a buffer"),
    "computed length": (lambda s: s.p.write("a", v.u32, s.x.length), "Fix: a length is known before the launch"),
    "computed step": (lambda s: s.p.range(0, 4, s.value), "Fix: count the steps in a loop of step 1, and multiply"),
    "collective": (lambda s: s.p.subgroup("sum", s.value), r"got 'sum', .* Fix: use one of reduce_add, .*, any, all"),
    "op": (lambda s: v.apply("sqr", s.real), "Fix: use sqrt"),
    "sign of an op": (lambda s: v.apply("+", s.value, 1), "Fix: use add"),
    "op of a dialect": (
        lambda s: v.apply("t.curl", s.real),
        r"Fix: call an op of a dialect by vyre\.call\('t\.curl', ",
    ),
    "power": (lambda s: s.value**2, r"Fix: write pow\(x, y\) of the elementary functions, or x \* x"),
    "function of NumPy": (lambda s: np.sqrt(s.real), "got NumPy's sqrt, .* Fix: use the function of vyre"),
    "array": (lambda s: s.value + np.ones(2, np.uint32), "Fix: index it, as an input or a p.const"),
    "array of the host": (lambda s: v.apply("sqrt", np.ones(2)), "on the host call NumPy's function"),
    "buffer": (lambda s: s.x + 1, r"got the buffer 'x', expected a value\. Fix: index the buffer"),
    "block": (lambda s: s.p.let(s.p.range(4)), "Fix: open the block in a `with` statement"),
    "result of set": (lambda s: s.p.let(s.variable.set(1)), r"Fix: use what returns a value: \.set\(…\)"),
    "condition": (lambda s: s.p.if_(s.value), r"got a value of u32, expected bool\. Fix: compare it, as in x != 0"),
    "rule of a buffer": (lambda s: s.p.write("a", v.u32, v.LengthOf(s.x)), "Fix: pass the name as a string, or like="),
    "table": (lambda s: s.p.constant("t", v.f32, [None]), "'t' got values of object, expected numbers"),
    "one index of two": (lambda s: s.image[0], r"got one index of 'image', which has 2 axes\. Fix: pass an index for"),
    "shape and count": (lambda s: s.p.read("a", v.u32, 4, shape=4), "'a' has a shape and a count. Fix: give one"),
    "named workgroup": (lambda s: s.p.workgroup("a", v.u32, shape="h"), r"the shape \('h',\) of 'a' has names"),
    "no axes": (lambda s: v.program("q").index(), r"the launch has no shape here\. Fix: declare an output with shape="),
    "name of the lengths": (lambda s: s.p.read("launch.shape", v.u32), "Fix: give the buffer another name"),
    "value as condition": (
        lambda s: s.p.while_(s.flag, 4),
        r"Fix: pass a function, which reads anew .* as in p\.while_",
    ),
    "endless": (lambda s: s.p.while_(lambda: s.flag, 0), "got the limit 0 of a loop"),
    "elif alone": (lambda s: s.p.elif_(s.flag), "elif_ does not follow an if_ block. Fix: open it right after"),
    "uneven table": (lambda s: s.p.constant("t", v.f32, [[1], [1, 2]]), "'t' got rows of different lengths"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_say_what_was_written_and_what_to_write(name: str) -> None:
    call, said = MESSAGES[name]
    with pytest.raises(v.VyreError, match=said):
        call(Scene())


# ── docstrings ───────────────────────────────────────────────────────────────────────────────────────────────────────


def documented() -> Iterator[tuple[str, object]]:
    for name in functions.__all__:
        yield f"functions.{name}", getattr(functions, name)
    for cls in (v.ProgramBuilder, v.Array, v.Value, v.Mutable, Block, Operators):
        for name, member in inspect.getmembers(cls):
            if not name.startswith("_") and name not in ("expr", "decl"):
                yield f"{cls.__name__}.{name}", member


@pytest.mark.parametrize(("name", "member"), list(documented()), ids=[name for name, _ in documented()])
def test_every_method_and_function_says_what_it_does(name: str, member: object) -> None:
    text = inspect.getdoc(member)
    assert text, name
    assert re.match(r"[^\n]{4,}[.:]$", text.split("\n\n")[0].replace("\n", " ")), text
    parameters = inspect.signature(member).parameters if callable(member) else {}
    if any(p != "self" for p in parameters) and "Value.cast` does" not in text and "Value.bitcast` does" not in text:
        assert "Args:" in text, text


@pytest.mark.parametrize("given", ["float32", np.float32, np.dtype("f4"), v.f32])
def test_types_have_the_names_of_numpy(given: Any) -> None:
    assert v.constant(given, 1).dtype is v.f32
    assert v.constant("int64", 1).dtype is v.i64


def test_an_array_without_axes_is_a_number() -> None:
    scene = Scene()
    assert str(v.constant(v.f32, np.array(3.0)).expr) == str(v.constant(v.f32, 3.0).expr)
    assert str((scene.value * np.array(3)).expr) == str((scene.value * 3).expr)
    with pytest.raises(v.BuildError, match="got MaskedArray, expected a value or a number"):
        scene.real * np.ma.masked_array(2.0, True)
