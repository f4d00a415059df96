"""Versions of installed distributions, and of packages that are imported."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version


def package_version(package: str) -> str:
    """What an imported package says of itself: the version of the code that runs, without a look at its metadata."""
    version: str = sys.modules[package].__version__
    return version


@cache
def distribution_version(distribution: str) -> str:
    """The version that is installed, for messages and cache keys."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"
