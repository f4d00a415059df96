"""The dialect as programs see it: names, types, text, and what a backend without it would need."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from pairs_of import BINARY

import vyre_foundation as vf
import vyre_math
from vyre_driver.codegen.lower import legalize
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.testing.target import generous_target
from vyre_foundation import DType, bf16, constant, f16, f32, f64, program, u32
from vyre_foundation.dialects import SignatureMismatch, lookup
from vyre_foundation.testing.stubs import check_stub
from vyre_math.dialect import FUNCTIONS, WIDE, rows

UNARY = [name for name in FUNCTIONS if name not in BINARY]


def test_the_entry_point_gives_the_rows() -> None:
    (entry,) = entry_points(group="vyre.dialects", name="math")
    names = [f"math.{name}" for name in (*FUNCTIONS, *WIDE)]
    assert [row.id for row in entry.load()()] == names == [row.id for row in rows()]
    assert [row.id for row in rows() if row.rare] == [f"math.{name}" for name in WIDE]


def test_every_row_has_a_function_of_its_name() -> None:
    assert sorted(vyre_math.__all__) == sorted(FUNCTIONS)
    for name in FUNCTIONS:
        operands = [constant(f32, 0.5)] * (2 if name in BINARY else 1)
        value = getattr(vyre_math, name)(*operands)
        assert repr(value.expr) == f"call<f32> math.{name}({', '.join(['0.5'] * len(operands))})"


@pytest.mark.parametrize("name", UNARY)
def test_calls_are_valid_and_survive_text_and_wire(name: str) -> None:
    with program("p", 64) as p:
        x = p.read("x", f32)
        p.write("out", f32, like=x)[p.global_id(0)] = getattr(vyre_math, name)(x[p.global_id(0)])
    made = p.build()
    assert vf.validate(made).determinism.is_deterministic
    assert vf.parse(vf.print_program(made)) == made
    assert vf.decode(vf.encode(made)) == made


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize(("dtype", "numpy"), [(f16, np.float16), (bf16, ml_dtypes.bfloat16)])
def test_narrow_types_get_the_result_of_f32_rounded(
    results: Callable[..., Any], name: str, dtype: DType, numpy: type
) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(numpy)
    wide = results(name, x.astype(np.float32)).view(np.float32)
    with np.errstate(all="ignore"):
        wanted = wide.astype(numpy)
    found = results(name, x, dtype=dtype).view(numpy)
    is_nan = np.isnan(wide)
    assert (np.isnan(found) == is_nan).all()
    assert (found.view(np.uint16) == wanted.view(np.uint16))[~is_nan].all()


def test_other_types_are_refused() -> None:
    with pytest.raises(SignatureMismatch, match=r"math\.exp got \(u32\), expected \(f32\); \(f64\); \(f16\); \(bf16\)"):
        vyre_math.exp(constant(u32, 1))


def test_a_device_without_f64_refuses() -> None:
    generous = generous_target()
    types = generous.arithmetic - {f64}
    poor = replace(generous, arithmetic=types, ops=frozenset(row for row in generous.ops if row[1] in types))
    with program("p", 64) as p:
        x = p.read("x", f32)
        p.write("out", f32, like=x)[p.global_id(0)] = vyre_math.exp(x[p.global_id(0)])
    made = p.build()
    with pytest.raises(UnsupportedFeature, match=r"f64(.|\n)*Fix: "):
        legalize(made, vf.validate(made), poor)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_a_docstring(name: str) -> None:
    function = getattr(vyre_math, name)
    text = inspect.getdoc(function)
    assert text is not None
    assert text.startswith(f"Compute {FUNCTIONS[name].summary}, correctly rounded for f32.\n\n- Domain: ")
    assert all(f"\n    {parameter}: " in text for parameter in inspect.signature(function).parameters)
    assert f"f64: below {FUNCTIONS[name].bound}," in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_the_stub_says_what_the_functions_say() -> None:
    head = """\
# ruff: noqa: RUF022

from typing import TypeVar, overload

from vyre_foundation.build import Number, Operand, Value

_V = TypeVar("_V", bound=Value)

__version__: str"""
    check_stub(vyre_math, head, __file__, keeps_type=lambda _: True)


def test_calls_take_the_operands_that_the_signature_names() -> None:
    x = constant(f32, 0.5)
    assert repr(vyre_math.atan2(x=x, y=1.0)) == repr(vyre_math.atan2(1.0, x))
    with pytest.raises(TypeError, match=r"^atan2\(\) missing a required argument: 'x'. Fix: pass y, x$"):
        vyre_math.atan2(x)


def test_summaries_say_what_is_computed() -> None:
    assert lookup("math.log1p").summary == "the natural logarithm of 1 + x"
    assert all(row.summary for row in rows())
