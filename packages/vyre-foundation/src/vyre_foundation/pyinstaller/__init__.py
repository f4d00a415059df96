"""What PyInstaller has to take into an application that uses vyre. It finds this module by an entry point.

Backends, dialects and commands are found by entry points, and names of packages are imported when they are first used:
an analysis of import statements sees neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path


def hook_dirs() -> list[str]:
    """The folder of the hook, for the entry point `hook-dirs`."""
    return [str(Path(__file__).parent / "hooks")]


def installed() -> Iterator[tuple[str, list[str]]]:
    """The distributions of this project, and those that register something with it, each with its import packages."""
    for distribution in distributions():
        name = distribution.name
        packages = _registering(distribution)
        if name.partition("-")[0] == "vyre":
            packages.add(name.replace("-", "_"))
        if packages:
            yield name, sorted(package for package in packages if find_spec(package) is not None)


def _registering(distribution: Distribution) -> set[str]:
    entries = (entry for entry in distribution.entry_points if entry.group.startswith("vyre."))
    return {entry.module.partition(".")[0] for entry in entries}
