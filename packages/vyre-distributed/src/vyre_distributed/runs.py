"""Sorted chunks in files, so that a sort of more than the memory of a cluster holds none of them.

A file is written under another name and renamed, so that a task that runs twice, or ends in the middle, harms nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np

from vyre_distributed.mapped import Array
from vyre_driver.errors import DispatchFailed, InvalidInput


def stored(run: Array, folder: str, name: str) -> str:
    """Write a sorted chunk to a file, and give its path."""
    path = Path(folder) / f"{name}.npy"
    unfinished = path.with_suffix(f".{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            np.save(file, run, allow_pickle=False)
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        reason = f"a sorted chunk of {run.nbytes} bytes was not written to {folder}: {error}"
        fix = "pass a folder with room for the whole array, which all workers may write to"
        raise DispatchFailed(reason, backend="dask", fix=fix) from error
    return os.fspath(path)


def opened(run: Array | str) -> Array:
    """A sorted chunk, of which only what is read comes into memory if it is in a file."""
    if not isinstance(run, str):
        return run
    try:
        found: Array = np.load(run, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        fix = "name a folder that all workers see under one name, and keep it until the result is computed"
        raise InvalidInput("folder", needed="the sorted chunks that tasks wrote", got=str(error), fix=fix) from error
    return found
