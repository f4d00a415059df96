"""The versions of installed distributions and of imported packages."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version


def package_version(package: str) -> str:
    """Return the version of an imported package, from its attribute `__version__`, without reading metadata."""
    version: str = sys.modules[package].__version__
    return version


@cache
def distribution_version(distribution: str) -> str:
    """Return the version of an installed distribution, for messages and cache keys."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"
