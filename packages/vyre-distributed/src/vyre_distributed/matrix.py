"""Products of chunked matrices: those of `vyre_algorithms` over the whole matrices, byte by byte."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

import vyre_algorithms
from vyre_distributed.chunked import empty
from vyre_distributed.mapped import Array
from vyre_distributed.worker import local_backend
from vyre_driver.errors import InvalidInput


def matmul(a: da.Array, b: da.Array, /, *, dtype: object = None) -> da.Array:
    """Multiply matrices, adding the products of each element in the order of the columns of `a`.

    Args:
        a: A chunked array of integers or floats, (m, k).
        b: A chunked array of the same type, (k, n). A task holds whole rows of a chunk of `a` and whole columns of a
            chunk of `b`, and their product.
        dtype: As for `vyre_algorithms.matmul`.

    Returns:
        An array (m, n), in the chunks of the rows and the columns: that of `vyre_algorithms.matmul`, byte by byte.

    Raises:
        InvalidInput: The shapes or types do not fit each other, or an argument is of another kind.
    """
    left, right = empty(a, "a"), empty(b, "b")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or left.dtype != right.dtype:
        got = f"{left.dtype} {a.shape} and {right.dtype} {b.shape}"
        raise InvalidInput("b", needed="(m, k) and (k, n) of one type", got=got, fix="reshape or convert one of them")
    result = vyre_algorithms.matmul(left.reshape(0, 0), right.reshape(0, 0), dtype=dtype).dtype
    found: da.Array = da.blockwise(
        _product, "ij", a.rechunk({1: -1}), "ik", b.rechunk({0: -1}), "kj", concatenate=True, token="matmul",
        dtype=result, meta=np.empty((0, 0), result), result=result,
    )  # fmt: skip
    return found


# ── what runs on workers ──


def _product(a: Array, b: Array, *, result: Any) -> Array:
    found: Array = vyre_algorithms.matmul(a, b, dtype=result, backend=local_backend())
    return found
