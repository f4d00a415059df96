"""Operators that structures define, against the same classes in Python."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vyre as vy
from vyre.kernels import overloads


@vy.struct
class Dual(vy.Struct):
    """A number and its derivative."""

    x: vy.f64
    d: vy.f64

    def __add__(self, other):
        if isinstance(other, Dual):
            return Dual(self.x + other.x, self.d + other.d)
        return Dual(self.x + other, self.d)

    __radd__ = __add__

    def __mul__(self, other):
        if not isinstance(other, Dual):
            return Dual(self.x * other, self.d * other)
        return Dual(self.x * other.x, self.x * other.d + self.d * other.x)

    __rmul__ = __mul__

    def __neg__(self):
        return Dual(-self.x, -self.d)

    def __sub__(self, other):
        return self + -other

    def __lt__(self, other):
        return self.x < other.x

    def __eq__(self, other):
        return self.x == other.x


@vy.kernel
def polynomial(x: vy.Array[vy.f64, "n"], coefficients: vy.Array[vy.f64, 4]) -> vy.Array[Dual, "n"]:
    at, result = Dual(x[vy.index()], 1.0), Dual(0.0, 0.0)
    for k in range(4):
        result *= at
        result += coefficients[k]
    return 2.0 * result - at


def test_a_derivative_by_dual_numbers() -> None:
    x, coefficients = np.linspace(-2, 2, 50), np.array([0.5, -3, 2, 7])
    found, exact = polynomial(x, coefficients), 2 * np.poly1d(coefficients) - np.poly1d([1, 0])
    assert np.allclose(found["x"], exact(x), rtol=1e-14)
    assert np.allclose(found["d"], exact.deriv()(x), rtol=1e-14)


def test_comparisons_select() -> None:
    @vy.kernel
    def order(x: vy.Array[vy.f64, "n"]) -> vy.Array[vy.u32, "n"]:
        i = vy.index()
        a, b = Dual(x[i], 0.0), Dual(2.0, 1.0)
        if a != b:
            return vy.u32(1) if a < b else vy.u32(3) if b < a else vy.u32(9)
        return vy.u32(2)

    assert order(np.array([1, 2, 3], float)).tolist() == [1, 2, 3]


def test_a_search_compares() -> None:
    @vy.kernel
    def found(x: vy.Array[vy.f64, "n"]) -> vy.Array[vy.u32, "n"]:
        at = Dual(x[vy.index()], 0.0)
        return vy.u32(at in (Dual(2.0, 1.0), Dual(5.0, 0.0))) + 2 * vy.u32(at not in [Dual(3.0, 0.0)])

    assert found(np.array([1, 2, 3, 5], float)).tolist() == [2, 3, 0, 3]


@vy.struct
class Metres(vy.Struct):
    x: vy.f32

    def __mul__(self, other):
        return Metres(self.x * other) if isinstance(other, (int, float)) else NotImplemented


@vy.struct
class Price(vy.Struct):
    of_one: vy.f32

    def __rmul__(self, other):
        return self.of_one * other.x

    def __add__(self, other):
        return NotImplemented


def test_the_right_operand_is_asked_if_the_left_one_declines() -> None:
    @vy.kernel
    def cost(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return Metres(x[vy.index()]) * 3 * Price(2.0)

    @vy.kernel
    def declined(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return (Price(x[0]) + Price(x[0])).of_one

    assert cost(np.array([1, 5], np.float32)).tolist() == [6, 30]
    with pytest.raises(vy.KernelError, match=r"'Price' does not define the operator `\+`"):
        _ = declined.program


def test_sums_begin_with_a_number() -> None:
    @vy.kernel
    def total(x: vy.Array[vy.f64, "n"]) -> vy.Array[Dual, "n"]:
        at = Dual(x[vy.index()], 1.0)
        return sum([at, at * at, at])

    assert total(np.array([3.0])).tolist() == [(15.0, 8.0)]


ARITHMETIC, COMPARISONS = overloads.BINARY.values(), overloads.COMPARISONS.values()
METHODS = "".join(
    [f"    def {o.method}(self, other): return Tagged(self.x * 100 + other.x * 10 + {k})\n"
     f"    def {o.reflected}(self, other): return Tagged(self.x * 300 + other * 10 + {k})\n"
     for k, o in enumerate(ARITHMETIC)]
    + [f"    def {o.method}(self): return Tagged(self.x * {k + 2})\n" for k, o in enumerate(overloads.UNARY.values())]
    + [f"    def {o.method}(self, other): return self.x * {k + 1} > other.x * 2\n" for k, o in enumerate(COMPARISONS)]
)  # fmt: skip
STRUCTURES = [f"{a} {o.sign} b" for o in ARITHMETIC for a in ("a", "2")] + [
    f"{o.sign}b" for o in overloads.UNARY.values()
]
TRUTHS = [f"a {o.sign} b" for o in COMPARISONS]
MODULE = f"""
import dataclasses
import vyre as vy

@vy.struct
class Tagged:
    x: vy.u32
{METHODS}

@vy.kernel(shape="n")
def applied(x: vy.Array[vy.u32, "n"], y: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n", {len(STRUCTURES + TRUTHS)}]):
    i = vy.index()
    a, b = Tagged(x[i]), Tagged(y[i])
    for k, found in enumerate(({", ".join(STRUCTURES)})):
        out[i, k] = found.x
    for k, found in enumerate(({", ".join(TRUTHS)})):
        out[i, {len(STRUCTURES)} + k] = vy.u32(found)

def of_python():
    @dataclasses.dataclass(eq=False)
    class Tagged:
        x: int
{METHODS.replace("    def", "        def")}
    a, b = Tagged(3), Tagged(5)
    return [*[found.x for found in ({", ".join(STRUCTURES)})], *[int(found) for found in ({", ".join(TRUTHS)})]]
"""


def test_each_operator_calls_the_method_that_python_calls(tmp_path: Path) -> None:
    path = tmp_path / "operators.py"
    path.write_text(MODULE, "utf-8")
    names: dict[str, Any] = {}
    exec(compile(MODULE, path, "exec"), names)
    found = names["applied"](np.array([3], np.uint32), np.array([5], np.uint32))
    assert found[0].tolist() == names["of_python"]()


@vy.struct
class Plain:
    x: vy.f32


@vy.kernel
def added(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return (Plain(x[0]) + 1).x


@vy.kernel
def doubled(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return (2 * Plain(x[0])).x


@vy.kernel
def negated(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return (-Plain(x[0])).x


@vy.kernel
def compared(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.u32, "n"]:
    return vy.u32(Plain(x[0]) == Plain(x[0]))


@pytest.mark.parametrize(
    ("kernel", "sign", "method"),
    [(added, "+", "__add__"), (doubled, "*", "__rmul__"), (negated, "-", "__neg__"), (compared, "==", "__eq__")],
)
def test_an_operator_that_is_not_defined_is_refused(kernel: Any, sign: str, method: str) -> None:
    with pytest.raises(vy.KernelError, match=re.escape(f"'Plain' does not define the operator `{sign}`")) as error:
        kernel(np.ones(2, np.float32))
    assert error.value.fix == f"define {method} in the structure, or compute with its fields, as in s.x"


def test_augmented_assignments_have_no_methods_of_their_own() -> None:
    with pytest.raises(vy.BuildError, match=r"Fix: define __add__, which augmented assignments use$"):

        @vy.struct
        class Sum:
            x: vy.f32

            def __iadd__(self, other):
                return self


def test_what_is_an_instance_is_known() -> None:
    @vy.kernel
    def known(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.u32, "n"]:
        s, v = Plain(x[0]), vy.vec(x[0], x[0])
        found = isinstance(s, (int, Plain)), isinstance(v, vy.Vec2), isinstance(3, int)
        others = (
            isinstance(s, (int, Dual)),
            isinstance(v, (vy.Vec3, Plain)),
            isinstance(x[0], Plain),
            isinstance(3, Plain),
        )
        return 1 if all(found) and not any(others) else 0

    assert known(np.ones(1, np.float32)) == 1


def test_a_value_is_an_instance_of_no_type_of_python() -> None:
    @vy.kernel
    def asked(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.u32, "n"]:
        return 1 if isinstance(x[0], float) else 0

    with pytest.raises(vy.KernelError, match=r"Fix: compare its type, as in x\.dtype is vy\.f32$"):
        _ = asked.program


def test_annotations_may_be_unions() -> None:
    """Of structures and numbers, as type checkers want them."""

    @vy.func
    def times(x: Plain | vy.f32 | float, y: "float | Plain") -> vy.f32:
        return (x.x if isinstance(x, Plain) else x) * (y.x if isinstance(y, Plain) else y)

    @vy.kernel
    def of_all(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        i = vy.index()
        return times(Plain(x[i]), 3.0) + times(x[i], Plain(2.0)) + times(2.0, Plain(x[i]))

    assert of_all(np.array([1, 10], np.float32)).tolist() == [7, 70]
