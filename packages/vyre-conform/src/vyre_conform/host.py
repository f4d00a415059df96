"""Where a run takes place, and with which versions of what judges."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

import numpy as np

from vyre_conform.digest import digest_of
from vyre_driver.observe.provenance import SourceProvenance, capture_git_info_at

JUDGES = ("vyre-foundation", "vyre-math", "vyre-driver", "vyre-reference", "vyre-conform")
"""The distributions of vyre that judge: those whose sources decide what a case is and how a cell ends."""
PACKAGES = tuple(distribution.replace("-", "_") for distribution in JUDGES)
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
    return package_digest(PACKAGES)


def package_digest(packages: Iterable[str]) -> str:
    """BLAKE3 over the names and contents of all files of packages and modules, in hex.

    A package that is not installed here has no files.
    """
    parts: list[bytes] = []
    for package in packages:
        files = [file for root in roots(package) for file in _files(root, package.replace(".", "/"))]
        for path, data in sorted(files):
            parts += path.encode(), data
    return digest_of(*parts)


def roots(package: str) -> tuple[Path, ...]:
    """The folders of a package, or the file of a module; none for what is not here.

    It imports nothing, whatever the name: names of packages stand in files.
    """
    top, *rest = package.split(".")
    if not all(map(str.isidentifier, (top, *rest))):
        return ()
    found = find_spec(top)
    for name in accumulate(rest, "{}.{}".format, initial=top):
        if name != top:
            found = PathFinder.find_spec(name, found.submodule_search_locations) if found else None
    if found is None:
        return ()
    folders = found.submodule_search_locations
    if folders is not None:
        return tuple(map(Path, folders))
    return (Path(found.origin),) if found.has_location and found.origin else ()


def own_packages(modules: Iterable[str]) -> tuple[str, ...]:
    """The packages of a backend that has its code in these modules, without those that are a part of every task.

    They are top packages, and below a namespace, which several distributions share, those in it.
    """
    found = {_package(module): None for module in modules if module}
    return tuple(package for package in found if package not in PACKAGES and roots(package))


def _package(module: str) -> str:
    names = list(accumulate(module.split("."), "{}.{}".format))
    return next((name for name in names if not _is_namespace(name)), names[-1])


def _is_namespace(package: str) -> bool:
    folders = roots(package)
    return bool(folders) and all(folder.is_dir() and not list(folder.glob("__init__.*")) for folder in folders)


def _files(root: Path, path: str) -> Iterator[tuple[str, bytes]]:
    if root.is_file():
        yield path, root.read_bytes()
    elif root.name != "__pycache__":
        for entry in root.iterdir():
            yield from _files(entry, f"{path}/{entry.name}")


def checkout(packages: Iterable[str]) -> dict[str, str]:
    """The commit of the checkout from which packages run, and whether anything in it is ``dirty``; nothing outside."""
    folders = {root if root.is_dir() else root.parent: None for package in packages for root in roots(package)}
    found = [facts for facts in map(capture_git_info_at, folders) if "commit" in facts]
    if not found:
        return {}
    return {"commit": found[0]["commit"], "dirty": str(any(facts["dirty"] == "true" for facts in found)).lower()}


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
