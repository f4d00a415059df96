"""The scalar types."""

import pickle

import ml_dtypes
import numpy as np
import pytest

from vyre_foundation import dtype as types
from vyre_foundation.dtype import DTYPES, FLOATS, INTEGERS, NUMBERS, DType, bool_, dtype, dtype_of_tag, u32
from vyre_foundation.errors import TypeMismatch

every_type = pytest.mark.parametrize("t", DTYPES)


def test_names_and_tags() -> None:
    assert [(t.name, t.tag) for t in DTYPES] == [
        *(("bool", 1), ("u8", 2), ("u16", 3), ("u32", 4), ("u64", 5), ("i8", 6), ("i16", 7), ("i32", 8), ("i64", 9)),
        *(("f16", 10), ("bf16", 11), ("f32", 12), ("f64", 13)),
    ]
    assert (*INTEGERS, *FLOATS) == NUMBERS == DTYPES[1:]


@every_type
def test_lookups(t: DType) -> None:
    assert dtype(t.name) is dtype_of_tag(t.tag) is pickle.loads(pickle.dumps(t)) is t  # noqa: S301
    assert repr(t) == t.name
    assert getattr(types, "bool_" if t.name == "bool" else t.name) is t


@every_type
def test_numpy_has_the_same_layout(t: DType) -> None:
    numpy = np.dtype(t.numpy)
    assert numpy.itemsize == t.size == max(1, t.bits // 8)
    assert numpy.kind == {"bool": "b", "bf16": "V"}.get(t.name, t.name[0])
    if t.is_integer:
        info = np.iinfo(numpy)
        assert (t.lowest, t.highest) == (info.min, info.max)
    elif t.is_float:
        assert t.format is not None
        finfo = ml_dtypes.finfo(numpy)
        assert t.format.precision == finfo.nmant + 1
        assert t.format.emax == finfo.maxexp - 1
        assert t.format.emin == finfo.minexp
    else:
        assert (t.lowest, t.highest) == (0, 1)


@every_type
def test_kinds(t: DType) -> None:
    assert (t.is_float, t.is_integer, t.is_signed) == (t in FLOATS, t in INTEGERS, t.name.startswith("i"))
    assert t.unsigned.name == f"u{8 * t.size}"


def test_unknown_types() -> None:
    with pytest.raises(KeyError):
        dtype("u128")
    with pytest.raises(KeyError):
        dtype_of_tag(14)


@pytest.mark.parametrize("axes", [slice(None), "n", (slice(None), slice(None)), 4], ids=str)
def test_a_type_has_no_axes(axes: object) -> None:
    """Other compilers for Python write arrays so."""
    with pytest.raises(TypeMismatch, match=r"^the type u32 has no axes\. Fix: write vy\.Array\[vy\.u32, 'n'\] for an"):
        u32[axes]  # type: ignore[index]
    with pytest.raises(TypeMismatch, match=r"write vy\.Array\[vy\.bool_, 'n'\]"):
        bool_[axes]  # type: ignore[index]


def test_a_type_is_not_iterable() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        iter(u32)  # type: ignore[call-overload]


@pytest.mark.parametrize("t", DTYPES, ids=repr)
def test_numpy_takes_a_type(t: DType) -> None:
    assert np.zeros(2, t).dtype == np.dtype(t) == t.numpy
