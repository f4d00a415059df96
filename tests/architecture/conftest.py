import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def projects() -> dict[str, dict[str, Any]]:
    """Every distribution's `pyproject.toml`, by folder name."""
    return {file.parent.name: tomllib.loads(file.read_text("utf-8")) for file in ROOT.glob("packages/*/pyproject.toml")}


@pytest.fixture(scope="session")
def tracked() -> list[Path]:
    """Every file that git tracks, or, in a tree without git, every file outside caches and built folders."""
    try:
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
        files = [ROOT / name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        files = [file for file in ROOT.rglob("*") if not any(map(is_made, file.relative_to(ROOT).parts[:-1]))]
    return [file for file in files if file.is_file() and not file.is_symlink()]


def is_made(folder: str) -> bool:
    """Whether a folder of this name holds what tools made: caches, environments, builds."""
    hidden = folder.startswith(".") and folder not in {".ci", ".github"}
    return hidden or folder in {"__pycache__", "_build", "build", "dist"}
