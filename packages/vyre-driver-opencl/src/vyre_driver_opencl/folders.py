"""The folders in which PoCL and PyOpenCL keep files between processes. Nothing is loaded to find them.

Both execute what they find there without checking it, and fail where they cannot write: PoCL ends the process, and
PyOpenCL, whose file `pytools/pdict-….sqlite` has the Python code that sets the arguments of kernels, raises the
`OSError` of the file system out of the first kernel that is made.
"""

from __future__ import annotations

import atexit
import os
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from platformdirs import user_cache_path

from vyre_driver.pipeline.ownership import require_secure_folder


def pocl_folder() -> Path:
    """Where PoCL compiles if nothing names another folder. Without a home it is one that all users share."""
    home = os.environ.get("HOME")
    return Path(os.environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "/tmp")) / "pocl"


def secure_pyopencl_cache() -> None:
    """Turn off the cache of PyOpenCL unless only this user writes it. PyOpenCL asks once, when it is imported.

    Its variable stays set: without it a process that imports PyOpenCL here makes no kernel at all.
    """
    if "PYOPENCL_NO_CACHE" not in os.environ and not is_private(user_cache_path("pytools", "pytools")):
        os.environ["PYOPENCL_NO_CACHE"] = "1"


def is_private(folder: Path) -> bool:
    """Whether this user can write in a folder, which need not exist, and no other user but root can."""
    if not folder.is_absolute():  # that of a user without a home
        return False
    try:
        there = next(part for part in (folder, *folder.parents) if part.exists())
        require_secure_folder(there)
    except OSError:
        return False
    return os.access(there, os.W_OK | os.X_OK)


@cache
def temporary_folder() -> str:
    """A folder of this process."""
    folder = mkdtemp(prefix="vyre-pocl-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder
