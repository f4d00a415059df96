"""Arrays of NumPy's types that the language does not have are refused, and what the remedy says keeps their values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vyre as vy


@vy.kernel
def same(x: vy.Array[vy.i64, "n"]) -> vy.Array[vy.i64, "n"]:
    return x[vy.index()]


def copied() -> vy.Program:
    with vy.program("copied") as p:
        x = p.read("x", vy.i64)
        out = p.write("out", vy.i64, like=x)
        out[p.global_id(0)] = x[p.global_id(0)]
    return p.build()


CALLS: dict[str, Callable[[Any], Any]] = {
    "run": lambda given: vy.run(copied(), x=given)["out"],
    "kernel": same,
    "array": vy.array,
    "typed array": lambda given: vy.array(given, vy.f64),
    "sum": vy.sum,
    "sort": vy.sort,
}
DAYS = np.array(["2020-01-01", "NaT", "1969-12-31"], "M8[D]")
WAVE = np.array([1 + 2j, 3 - 4j], np.complex64)
PAIRS = np.array([(1, 0.5), (2, 1.5)], [("count", "i8"), ("weight", "f8")])
# fmt: off
GIVEN = {
    "dates":      (DAYS, "numpy.asarray(time, 'datetime64[D]').view('int64')", [18262, -(2**63), -1]),
    "spans":      (DAYS - DAYS[0], "numpy.asarray(time, 'timedelta64[D]').view('int64')", [0, -(2**63), -18263]),
    "complex":    (WAVE, "z.view('float32').reshape(*z.shape, 2)", [[1, 2], [3, -4]]),
    "wide":       (WAVE.astype(np.complex128), "z.view('float64').reshape(*z.shape, 2)", [[1, 2], [3, -4]]),
    "objects":    (np.array([1, 2.5], object), "x.astype('float64')", [1, 2.5]),
    "bytes":      (np.array([b"ab", b"c"], "V2"), "x.view('uint8')", [97, 98, 99, 0]),
    "swapped":    (DAYS.astype(">M8[D]"), ".astype('datetime64[D]')", None),
    "swapped z":  (WAVE.astype(">c8"), ".astype('complex64')", None),
}
# fmt: on


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", GIVEN)
def test_the_remedy_keeps_the_values(call: str, name: str) -> None:
    given, remedy, values = GIVEN[name]
    if (call, name) == ("typed array", "objects"):
        assert vy.array(given, vy.f64).tolist() == values
        return
    with pytest.raises(vy.VyreError) as caught:
        CALLS[call](given)
    assert caught.value.fix.endswith(remedy)
    if values is not None:
        found = eval(remedy, dict.fromkeys(("time", "x", "z"), given) | {"numpy": np})
        assert vy.array(found).tolist() == values


@pytest.mark.parametrize("call", ["run", "kernel", "sum", "sort"])
def test_structures_are_taken_by_field(call: str) -> None:
    with pytest.raises(vy.VyreError) as caught:
        CALLS[call](PAIRS)
    assert caught.value.fix == "pass a field of it, as in x['count']"
    assert np.asarray(CALLS[call](PAIRS["count"])).sum() == 3


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long doubles are f64")
@pytest.mark.parametrize("call", ["array", "sum", "sort"])
def test_long_doubles_are_converted(call: str) -> None:
    with pytest.raises(vy.VyreError, match=r"Fix: convert it with \.astype\('float64'\)$"):
        CALLS[call](np.ones(2, np.longdouble))


@vy.struct
class Complex(vy.Struct):
    re: vy.f32
    im: vy.f32


@vy.kernel
def conjugated(z: vy.Array[Complex, "n"]) -> vy.Array[Complex, "n"]:
    i = vy.index()
    return Complex(z[i].re, -z[i].im)


def test_bytes_are_seen_as_structures() -> None:
    with pytest.raises(vy.VyreError) as caught:
        conjugated(WAVE)
    assert caught.value.fix.endswith("or see bytes as such, as in x.view(Particle.dtype)")
    assert np.array_equal(conjugated(WAVE.view(Complex.dtype)).view(WAVE.dtype), WAVE.conj())
    packed = np.zeros(2, np.dtype([("re", "f8"), ("im", "f8")]))
    with pytest.raises(vy.VyreError, match=r"or convert it with \.astype\(…\)$"):
        conjugated(packed)
    assert conjugated(packed.astype(Complex.dtype))["re"].tolist() == [0, 0]
