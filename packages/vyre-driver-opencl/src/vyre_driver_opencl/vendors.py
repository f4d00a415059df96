"""The runtimes that a system registers, by their files: nothing is loaded to find them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FOLDERS = ("/etc/OpenCL/vendors",)
"""Where systems register runtimes, one `.icd` file each, unless `OCL_ICD_VENDORS` names another place."""
CPUS = ("pocl", "intelocl")
"""Runtimes for CPUs, by a part of the name."""


def registered() -> list[Path]:
    """The runtimes that the system or `OCL_ICD_VENDORS` registers."""
    places = [os.environ["OCL_ICD_VENDORS"]] if os.environ.get("OCL_ICD_VENDORS") else FOLDERS
    return [file for place in places for file in (sorted(Path(place).glob("*.icd")) or _alone(Path(place)))]


def description(file: Path) -> str:
    """A registered library's name: the file's own, and what a registration file says, in lower case."""
    try:
        text = file.name + (file.read_text("utf-8", "replace") if file.suffix == ".icd" else "")
    except OSError:
        text = file.name
    return text.casefold()


def may_have_gpu() -> bool:
    """Whether a runtime is registered that may know a GPU. Windows and macOS keep no files: there it may be."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(not any(cpu in description(file) for cpu in CPUS) for file in registered())


def _alone(place: Path) -> list[Path]:
    """A place that is a file: the loader then takes it as the one library."""
    return [place] if place.is_file() else []
