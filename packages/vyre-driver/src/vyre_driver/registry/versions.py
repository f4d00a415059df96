"""Versions of installed distributions."""

from __future__ import annotations

from functools import cache


@cache
def distribution_version(distribution: str) -> str:
    """The version that is installed, for messages and cache keys."""
    from importlib.metadata import PackageNotFoundError, version  # not needed by those who only dispatch

    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"
