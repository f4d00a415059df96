"""The import contracts hold, and each of them fails when a wrong arrow is planted."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LAYERS, NEUTRAL, ROOMS = (
    "Imports point down the layers",
    "Shared packages import no concrete driver and no device library",
    "The rooms of vyre_driver are in data-flow order",
)

# (file that gains a line, the line, the contract that must break)
# fmt: off
VIOLATIONS = [
    ("vyre-foundation/src/vyre_foundation/planted.py",       "import vyre_driver",                  LAYERS),
    ("vyre-foundation/src/vyre_foundation/planted.py",       "def late():\n    import vyre_reference", LAYERS),
    ("vyre-driver/src/vyre_driver/planted.py",               "from vyre_reference import *",        LAYERS),
    ("vyre-driver/src/vyre_driver/planted.py",               "import vyre_conform",                 LAYERS),
    ("vyre-reference/src/vyre_reference/planted.py",         "import vyre_driver_opencl",           LAYERS),
    ("vyre-driver-opencl/src/vyre_driver_opencl/planted.py", "import vyre_reference",               LAYERS),
    ("vyre-driver-cuda/src/vyre_driver_cuda/planted.py",     "import vyre_driver_opencl",           LAYERS),
    ("vyre-conform/src/vyre_conform/planted.py",             "import vyre",                         LAYERS),
    ("vyre-conform/src/vyre_conform/planted.py",             "import vyre_driver_opencl",           NEUTRAL),
    ("vyre/src/vyre/planted.py",                             "import vyre_driver_opencl",           NEUTRAL),
    ("vyre-driver/src/vyre_driver/planted.py",               "import pyopencl",                     NEUTRAL),
    ("vyre-driver/src/vyre_driver/planted.py",               "import cupy",                         NEUTRAL),
    ("vyre-foundation/src/vyre_foundation/planted.py",       "import cupy.cuda",                    NEUTRAL),
    ("vyre-driver/src/vyre_driver/device/__init__.py",       "import vyre_driver.engine",           ROOMS),
]
# fmt: on


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the sources that a test may spoil."""
    shutil.copy(root / "pyproject.toml", tmp_path)
    for source in root.glob("packages/*/src"):
        shutil.copytree(source, tmp_path / source.relative_to(root), ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def lint(script: Path, tree: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, str(script), str(tree)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, encoding="utf-8")


@pytest.fixture
def script(root: Path) -> Path:
    return root / "tests/architecture/lint_imports.py"


def test_contracts_are_kept(script: Path, tree: Path) -> None:
    result = lint(script, tree)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(("file", "line", "contract"), VIOLATIONS)
def test_a_planted_violation_is_found(script: Path, tree: Path, file: str, line: str, contract: str) -> None:
    spoiled = tree / "packages" / file
    spoiled.parent.mkdir(exist_ok=True)
    engine = tree / "packages/vyre-driver/src/vyre_driver/engine"
    engine.mkdir(exist_ok=True)
    (engine / "__init__.py").touch()
    with spoiled.open("a") as module:
        module.write(f"\n{line}\n")
    result = lint(script, tree)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{contract} BROKEN" in result.stdout
