"""Files of NumPy as chunked arrays whose tasks carry the name of the file, not what is in it.

Dask has its own functions for the other formats: `dask.array.from_zarr`, `dask.array.from_npy_stack`,
`dask.dataframe.read_parquet`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.base import tokenize

from vyre_driver.errors import InvalidInput


class _NpyFile:
    """An array in a file, of which `dask.array` reads slices."""

    def __init__(self, path: str) -> None:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        self.path, self.shape, self.dtype, self.ndim = path, mapped.shape, mapped.dtype, mapped.ndim

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        # A copy, because the pages of a map count as memory of the process for as long as it is open.
        return np.array(np.load(self.path, mmap_mode="r", allow_pickle=False)[key])


def from_npy(path: str | os.PathLike[str], *, chunks: Any = "auto") -> da.Array:
    """An array in a file of NumPy (``.npy``), of which a task reads one chunk through a memory map.

    Args:
        path: The file, which all workers see under this name.
        chunks: As for `dask.array.from_array`.

    Raises:
        InvalidInput: The file has no array of numbers or bools.
        OSError: The file cannot be read.
    """
    name = os.fspath(path)
    try:
        file = _NpyFile(name)
    except (ValueError, EOFError) as error:
        fix = "write the file with numpy.save"
        raise InvalidInput("path", needed="an array in NumPy's format", got=f"{name}: {error}", fix=fix) from error
    status = Path(name).stat()
    token = tokenize(name, status.st_mtime_ns, status.st_size, chunks)
    array: da.Array = da.from_array(
        file, chunks=chunks, name=f"from-npy-{token}", asarray=False, meta=np.empty(0, file.dtype)
    )
    return array
