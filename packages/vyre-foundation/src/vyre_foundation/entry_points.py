"""Entry points of installed distributions, without the 15 to 20 ms that it takes to import `importlib.metadata`.

A process that has that module asks it, and so does one whose distributions are not all folders on `sys.path`. Any
other reads what the module would: `entry_points.txt` in folders named ``*.dist-info`` or ``*.egg-info``, of which the
first for each distribution counts (https://packaging.python.org/en/latest/specifications/entry-points/).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

from vyre_foundation.record import record

LIBRARY = "importlib.metadata"
INFORMATION = (".dist-info", ".egg-info")


@record(frozen=True, slots=True)
class EntryPoint:
    """An object by its place, ``package.module:attribute``, and the distribution that announces it under a name."""

    name: str
    value: str
    distribution: str
    version: str

    def load(self) -> Any:
        """Import the module, and what it is that the place names in it."""
        module, _, attributes = self.value.partition("[")[0].partition(":")
        return reduce(getattr, filter(None, attributes.strip().split(".")), import_module(module.strip()))


def entry_points(group: str) -> list[EntryPoint]:
    """All of a group, in an order that does not depend on the installation."""
    found = _asked(group) if LIBRARY in sys.modules or not _are_folders() else _read(group)
    return sorted(found, key=lambda point: (point.name, point.distribution, point.value))


def _asked(group: str) -> Iterator[EntryPoint]:
    import importlib.metadata

    for point in importlib.metadata.entry_points(group=group):
        name, version = (point.dist.name, point.dist.version) if point.dist else ("an unknown distribution", "0")
        yield EntryPoint(point.name, point.value, name, version)


def _are_folders() -> bool:
    """Whether all distributions are folders in folders of `sys.path`, and nobody else finds any."""
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    is_other = (place.endswith(".egg") or os.path.isfile(place) for place in sys.path)  # noqa: PTH113 - see below
    return finders == [PathFinder] and not any(is_other)


# Hundreds of files are looked at: texts for their paths take half as long as objects.


def _read(group: str) -> Iterator[EntryPoint]:
    seen = set()
    for folder, name in _information():
        distribution = re.sub(r"[-_.]+", "_", name.partition("-")[0]).lower()
        if distribution in seen:
            continue
        seen.add(distribution)
        text = _text(f"{folder}/entry_points.txt")
        if f"[{group}]" in text:
            owner = _said(folder, name)
            yield from (EntryPoint(*point, *owner) for point in _points(text, group))


def _information() -> Iterator[tuple[str, str]]:
    """The folders in which distributions say what they are, as `sys.path` has them, and their names."""
    for place in sys.path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208
        except OSError:  # most often it is not there
            continue
        yield from ((f"{place or '.'}/{name}", name.rpartition(".")[0]) for name in names if name.endswith(INFORMATION))


def _points(text: str, group: str) -> Iterator[tuple[str, str]]:
    """Names and values in the section of this group."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section == group and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _said(folder: str, called: str) -> tuple[str, str]:
    """Name and version."""
    head = (_text(f"{folder}/METADATA") or _text(f"{folder}/PKG-INFO")).partition("\n\n")[0]
    fields = dict(line.split(": ", 1) for line in reversed(head.splitlines()) if ": " in line)
    return fields.get("Name", called.partition("-")[0]), fields.get("Version", "0")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
