"""The import contracts hold, and each of them fails when a wrong arrow is planted."""

import ast
import os
import re
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


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, str(Path(__file__).with_name("lint_imports.py")), str(tree)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, encoding="utf-8")


def test_contracts_are_kept(root: Path) -> None:
    result = lint(root)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


def planted(number: int) -> str:
    """The file of a violation; new modules have a number, so that each is a module of its own."""
    return VIOLATIONS[number][0].replace("planted", f"planted{number}")


@pytest.fixture(scope="module")
def report(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of a copy of the sources that has all violations: it names the modules under each contract."""
    tree = tmp_path_factory.mktemp("tree")
    shutil.copy(root / "pyproject.toml", tree)
    for source in root.glob("packages/*/src"):
        shutil.copytree(source, tree / source.relative_to(root), ignore=shutil.ignore_patterns("__pycache__"))
    for number, (_, line, _) in enumerate(VIOLATIONS):
        with (tree / "packages" / planted(number)).open("a") as module:
            module.write(f"\n{line}\n")
    result = lint(tree)
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("number", range(len(VIOLATIONS)))
def test_a_planted_violation_is_found(report: str, number: int) -> None:
    _, line, contract = VIOLATIONS[number]
    assert f"{contract} BROKEN" in report
    _, found = report.split(f"\n{contract}\n{'-' * len(contract)}\n")
    own = re.split(r"\n-{20,}\n", found)[0]  # up to the rule under the next contract's name
    module = planted(number).partition("/src/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    imported = re.search(r"(?:from|import) (\w+)", line)
    arrow = f" -> {imported[1]}" if imported else "$"
    assert re.search(rf"^- +{re.escape(module)}{arrow}", own, re.MULTILINE), own


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
        text = file.read_text("utf-8")
        if not re.search(r"^ +(?:import|from) ", text, re.MULTILINE):
            continue  # to parse all files takes seconds
        functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef))
        for node in (node for function in functions for node in ast.walk(function)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                if str(module).partition(".")[0] not in OPTIONAL and place not in FACTORIES:
                    found.add(f"{place}: {module}")
    assert found == {"vyre_driver/observe/live.py: vyre_driver.observe.spans"}


def test_packages_import_the_foundation_first(root: Path) -> None:
    """All of it, before they import a part of it or each other.

    While a package is being imported, Python lets other threads import its modules, in another order. Two threads that
    wait for each other's modules both get errors. A thread that imports the package itself waits, and holds nothing
    that the other needs.
    """
    inits = [path for path in root.glob("packages/*/src/*/__init__.py") if path.parent.name != "vyre_foundation"]
    assert len(inits) > 5
    assert {path.parent.name: _first_of_ours(path) for path in inits} == {
        path.parent.name: "vyre_foundation" for path in inits
    }


def _first_of_ours(path: Path) -> str:
    for node in ast.parse(path.read_text()).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        ours = [name for name in names if name.startswith("vyre")]
        if ours:
            return ours[0]
    return ""
