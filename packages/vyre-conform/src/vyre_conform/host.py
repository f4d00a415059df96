"""Where a run takes place, and with which versions of what judges."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

import numpy as np

DISTRIBUTIONS = ("vyre-foundation", "vyre-math", "vyre-driver", "vyre-reference", "vyre-conform")
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
