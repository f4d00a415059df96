"""The import contracts hold, and each of them fails when a wrong arrow is planted."""

import ast
import os
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

LAYERS, NEUTRAL, ROOMS, FOUNDATION = (
    "Imports point down the layers",
    "Shared packages import no concrete driver and no device library",
    "The rooms of vyre_driver are in data-flow order",
    "The rooms of vyre_foundation are in data-flow order",
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
    ("vyre-driver-cpu/src/vyre_driver_cpu/planted.py",       "import vyre_driver_opencl",           LAYERS),
    ("vyre-algorithms/src/vyre_algorithms/planted.py",       "import vyre_reference",               LAYERS),
    ("vyre-algorithms/src/vyre_algorithms/planted.py",       "import vyre_distributed",             LAYERS),
    ("vyre-conform/src/vyre_conform/planted.py",             "import vyre",                         LAYERS),
    ("vyre-conform/src/vyre_conform/planted.py",             "import vyre_driver_opencl",           NEUTRAL),
    ("vyre/src/vyre/planted.py",                             "import vyre_driver_opencl",           NEUTRAL),
    ("vyre-distributed/src/vyre_distributed/planted.py",     "import vyre_driver_cpu",              NEUTRAL),
    ("vyre-driver/src/vyre_driver/planted.py",               "import pyopencl",                     NEUTRAL),
    ("vyre-driver/src/vyre_driver/planted.py",               "import cupy",                         NEUTRAL),
    ("vyre-driver/src/vyre_driver/planted.py",               "import llvmlite",                     NEUTRAL),
    ("vyre-foundation/src/vyre_foundation/planted.py",       "import cupy.cuda",                    NEUTRAL),
    ("vyre-driver/src/vyre_driver/device/__init__.py",       "import vyre_driver.engine",           ROOMS),
    ("vyre-foundation/src/vyre_foundation/ir/planted.py",    "def f():\n    import vyre_foundation.wire", FOUNDATION),
    ("vyre-foundation/src/vyre_foundation/wire/planted.py",  "import vyre_foundation.validate",     FOUNDATION),
    ("vyre-foundation/src/vyre_foundation/planted.py",       "",                                    FOUNDATION),
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


PACKAGES = (
    "vyre",
    *(
        f"vyre_{name}"
        for name in "conform distributed driver driver_cpu driver_cuda driver_opencl foundation math reference".split()
    ),
)


def test_no_modules_import_each_other_in_a_circle(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even inside of functions. Imports for type checkers alone do not count."""
    for source in root.glob("packages/*/src"):
        monkeypatch.syspath_prepend(source)
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


OPTIONAL = {"PIL", "cryptography", "cuda", "cupy", "gmpy2", "grp", "ml_dtypes", "pwd", "pyarrow"}
"""What an installation may lack: extras, libraries of devices, modules of one system."""
FACTORIES = {
    "vyre_distributed/registrations.py",
    "vyre_driver_cpu/__init__.py",
    "vyre_driver_cuda/__init__.py",
    "vyre_driver_opencl/__init__.py",
    "vyre_reference/registrations.py",
}
"""What a registration imports when its backend is acquired; listing backends imports no device's library."""


def test_functions_import_nothing_but_what_may_be_missing(root: Path) -> None:
    found = set()
    for file in sorted(root.glob("packages/*/src/**/*.py")):
        place = file.relative_to(file.parents[len(file.parts) - file.parts.index("src") - 2]).as_posix()
        functions = (n for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.FunctionDef))
        for node in (node for function in functions for node in ast.walk(function)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                if str(module).partition(".")[0] not in OPTIONAL and place not in FACTORIES:
                    found.add(f"{place}: {module}")
    assert found == {"vyre_driver/observe/live.py: vyre_driver.observe.spans"}
