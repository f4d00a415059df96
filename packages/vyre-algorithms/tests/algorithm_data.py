"""Arrays of every type, and their comparison to the bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from vyre_driver import availability, registered_backends

BACKENDS = [
    registration.id
    for registration in registered_backends()
    if registration.id != "reference-scalar"
    and not registration.is_distributed
    and availability(registration.id).is_available
]
SHORT = {"reference", "cpu"}
"""What runs without `-m slow`."""
TYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", ml_dtypes.bfloat16, "f4", "f8"]
COMPILED = ["i1", "u8", ml_dtypes.bfloat16]
"""Types of different code: a byte, the widest integer, and what is computed in f32. `-m slow` compiles every type."""

UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
"""What an operation combines two elements with, in NumPy."""


def data(dtype, shape, seed=1):
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype, endpoint=True)
    return random.standard_normal(shape).astype(dtype)


def same(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()
