"""Plugins: the entry points of installed distributions, without those that the user has disabled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from importlib.metadata import Distribution, EntryPoint

from vyre_foundation.errors import DamagedDistribution

DISABLE = "VYRE_DISABLE_PLUGINS"
"""Environment variable: "1", "all" or "true" disables every plugin; otherwise the names to disable, with commas.

The case of letters does not matter.
"""

EXHAUSTED = (MemoryError, RecursionError)
"""Errors of any code, where the caller has used up memory or the stack: they are no fault of the plugin that runs."""


def disabled_names() -> frozenset[str] | None:
    """The names that `VYRE_DISABLE_PLUGINS` disables, in lower case; None if it disables all."""
    names = frozenset(word.strip().casefold() for word in os.environ.get(DISABLE, "").split(","))
    return None if names & {"1", "all", "true"} else names


def entry_points(group: str) -> list[EntryPoint]:
    """The entry points of a group of all installed distributions; `DamagedDistribution` if one cannot be read."""
    try:
        return list(metadata.entry_points(group=group))
    except EXHAUSTED:
        raise
    except Exception as error:  # whatever the files of other distributions make their readers raise
        raise _damaged(error) from error


def installed_distributions() -> Iterator[tuple[str, Distribution]]:
    """The installed distributions with their names; `DamagedDistribution` if one cannot be read."""
    try:
        found = [(distribution.metadata["Name"], distribution) for distribution in metadata.distributions()]
    except EXHAUSTED:
        raise
    except Exception as error:
        raise _damaged(error) from error
    yield from ((name, distribution) for name, distribution in found if name)


def _damaged(error: Exception) -> DamagedDistribution:
    """The error that names the first distribution that cannot be read."""
    where = "an installed distribution"
    with suppress(Exception):  # of a finder in `sys.meta_path`
        for distribution in metadata.distributions():
            name = "a distribution"
            try:
                name = distribution.metadata["Name"] or name
                _ = distribution.entry_points
            except Exception:
                where = f"{name} in {str(distribution.locate_file('')).rstrip('/')}"
                break
    message = f"its description cannot be read: {type(error).__name__}: {error}"
    return DamagedDistribution(message, fix="reinstall it, or remove it", where=where)


def plugins(group: str) -> list[EntryPoint]:
    """The enabled entry points of a group, in an order that does not depend on the installation."""
    disabled = disabled_names()
    if disabled is None:
        return []
    found = [entry for entry in entry_points(group) if entry.name.casefold() not in disabled]
    return sorted(found, key=lambda entry: (entry.name, distribution_name(entry), entry.value))


def disabled_plugins(group: str) -> tuple[str, ...]:
    """The names of the installed plugins of a group that `VYRE_DISABLE_PLUGINS` disables."""
    return tuple(sorted(installed_plugins(group) - {entry.name for entry in plugins(group)}))


def installed_plugins(group: str) -> frozenset[str]:
    """The names of the installed plugins of a group, disabled or not."""
    return frozenset(entry.name for entry in entry_points(group))


def distribution_name(entry: EntryPoint) -> str:
    """The name of the distribution that announces an entry point."""
    return entry.dist.name if entry.dist else "an unknown distribution"


def distribution_version(entry: EntryPoint) -> str:
    """The version of the distribution that announces an entry point; "0" if it is unknown."""
    return entry.dist.version if entry.dist else "0"
