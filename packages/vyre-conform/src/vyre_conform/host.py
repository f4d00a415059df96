"""Where a run takes place, and with which versions of what judges."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec

import numpy as np

from vyre_conform.run import digest_of
from vyre_driver.observe.provenance import SourceProvenance

JUDGES = ("vyre-foundation", "vyre-math", "vyre-driver", "vyre-reference", "vyre-conform")
"""The distributions of vyre that judge: those whose sources decide what a case is and how a cell ends."""
DISTRIBUTIONS = (*JUDGES, "numpy", "gmpy2")
SETTINGS = "VYRE_"
"""What the names of environment variables begin with that change how programs are run."""


def versions(distributions: Iterable[str] = DISTRIBUTIONS) -> dict[str, str]:
    """The versions of what takes part in judging; those that are not installed are left out."""
    found = {}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def code_digest() -> str:
    """BLAKE3 over the names and contents of the sources of `JUDGES`, in hex: equal in a checkout and in wheels."""
    parts: list[bytes] = []
    for name in (distribution.replace("-", "_") for distribution in JUDGES):
        if find_spec(name) is not None:
            for path, data in sorted(_files(files(name), name)):
                parts += path.encode(), data
    return digest_of(*parts)


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry, f"{path}/{entry.name}")
        elif entry.is_file():
            yield f"{path}/{entry.name}", entry.read_bytes()


@cache
def git_facts() -> dict[str, str]:
    """What git says of the checkout from which this process runs; nothing outside of one."""
    return dict(SourceProvenance.capture().git)


def host_facts() -> dict[str, str]:
    """The machine, the interpreter, and the settings of the environment."""
    settings = {name: value for name, value in sorted(os.environ.items()) if name.startswith(SETTINGS)}
    return {
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cores": str(os.cpu_count()),
        **settings,
    }
