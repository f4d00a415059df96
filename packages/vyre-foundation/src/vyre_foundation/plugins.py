"""Plugins: the entry points of installed distributions, without those that the user has disabled."""

from __future__ import annotations

import os
from importlib import metadata
from importlib.metadata import EntryPoint

DISABLE = "VYRE_DISABLE_PLUGINS"
"""Environment variable: "1", "all" or "true" disables every plugin; otherwise the names to disable, with commas."""

EXHAUSTED = (MemoryError, RecursionError)
"""Errors of any code, where the caller has used up memory or the stack: they are no fault of the plugin that runs."""


def disabled_names() -> frozenset[str] | None:
    """The names that `VYRE_DISABLE_PLUGINS` disables; None if it disables all."""
    names = frozenset(word.strip() for word in os.environ.get(DISABLE, "").split(","))
    return None if names & {"1", "all", "true"} else names


def plugins(group: str) -> list[EntryPoint]:
    """The enabled entry points of a group, in an order that does not depend on the installation."""
    disabled = disabled_names()
    if disabled is None:
        return []
    found = [entry for entry in metadata.entry_points(group=group) if entry.name not in disabled]
    return sorted(found, key=lambda entry: (entry.name, distribution_name(entry), entry.value))


def disabled_plugins(group: str) -> tuple[str, ...]:
    """The names of the installed plugins of a group that `VYRE_DISABLE_PLUGINS` disables."""
    return tuple(sorted(installed_plugins(group) - {entry.name for entry in plugins(group)}))


def installed_plugins(group: str) -> frozenset[str]:
    """The names of the installed plugins of a group, disabled or not."""
    return frozenset(entry.name for entry in metadata.entry_points(group=group))


def distribution_name(entry: EntryPoint) -> str:
    """The name of the distribution that announces an entry point."""
    return entry.dist.name if entry.dist else "an unknown distribution"


def distribution_version(entry: EntryPoint) -> str:
    """The version of the distribution that announces an entry point; "0" if it is unknown."""
    return entry.dist.version if entry.dist else "0"
