"""The distributions are one family: same version, same licence, same shape, and arrows that the metadata states too."""

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

VERSION = "0.1.0"
SIBLING_RANGE = ">=0.1,<0.2"
SCREEN = 60  # lines

# What each distribution may need from the family. The extras of the front door only pull others in.
# fmt: off
SIBLINGS = {
    "vyre-foundation":    set(),
    "vyre-math":          {"vyre-foundation"},
    "vyre-driver":        {"vyre-foundation"},
    "vyre-algorithms":    {"vyre-foundation", "vyre-math", "vyre-driver"},
    "vyre-reference":     {"vyre-foundation", "vyre-driver"},
    "vyre-driver-cpu":    {"vyre-foundation", "vyre-driver"},
    "vyre-driver-opencl": {"vyre-foundation", "vyre-driver"},
    "vyre-driver-cuda":   {"vyre-foundation", "vyre-driver"},
    "vyre-distributed":   {"vyre-foundation", "vyre-driver", "vyre-algorithms"},
    "vyre-conform":       {"vyre-foundation", "vyre-driver", "vyre-algorithms", "vyre-reference"},
    "vyre":               {
        "vyre-foundation", "vyre-math", "vyre-driver", "vyre-algorithms", "vyre-driver-cpu", "vyre-reference",
    },
}
# fmt: on

# Where the name in the index and the name in an import statement differ.
IMPORT_NAMES = {
    "pillow": "PIL",
    "ml-dtypes": "ml_dtypes",
    "opentelemetry-api": "opentelemetry",
    "cuda-bindings": "cuda",
    "cupy-cuda12x": "cupy",
    "cupy-cuda13x": "cupy",
    "nvidia-cuda-nvrtc": "",
    "nvidia-cuda-nvrtc-cu12": "",
    "intel-opencl-rt": "",
    "intel-cmplr-lib-rt": "",
    "tbb": "",
}
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?(?P<range>[^;]*)")

packages = pytest.mark.parametrize("name", SIBLINGS)


def requirement(text: str) -> tuple[str, str]:
    match = REQUIREMENT.match(text)
    assert match, text
    return match["name"].lower().replace("_", "-"), match["range"].strip()


def source(root: Path, name: str) -> Path:
    return root / "packages" / name / "src" / name.replace("-", "_")


def imported_tops(folder: Path) -> dict[str, str]:
    """Top-level names of all import statements below a folder, late ones included, each with one place.

    Those of hooks are left out: PyInstaller, which is then there, runs them.
    """
    found: dict[str, str] = {}
    for file in sorted({*folder.rglob("*.py")} - {*folder.rglob("hook-*.py")}):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Import(names=names):
                    modules = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module), level=0):
                    modules = [module]
                case _:
                    continue
            found |= {module.partition(".")[0]: f"{file.name}:{node.lineno}" for module in modules}
    return found


def test_the_family_is_complete(projects: dict[str, Any]) -> None:
    assert set(projects) == set(SIBLINGS)


@packages
def test_shape(root: Path, projects: dict[str, Any], name: str) -> None:
    project, folder = projects[name]["project"], root / "packages" / name
    assert project["name"] == name
    assert project["license"] == "MIT OR Apache-2.0"
    assert project["requires-python"] == ">=3.11"
    stated = [
        file for file in source(root, name).glob("*.py") if f'__version__ = "{VERSION}"' in file.read_text("utf-8")
    ]
    assert [file.name for file in stated] in (["__init__.py"], ["_version.py"])
    assert (source(root, name) / "py.typed").exists()
    assert len((folder / "README.md").read_text("utf-8").splitlines()) <= SCREEN
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"]:
        assert (folder / licence).read_bytes() == (root / licence).read_bytes()


@packages
def test_released_sources_have_no_tests(projects: dict[str, Any], name: str) -> None:
    """Those need the workspace: fixtures of its root, and the layers above."""
    targets = projects[name]["tool"]["hatch"]["build"]["targets"]
    assert targets["sdist"] == {"include": ["/src", "/LICENSE-*", "/README.md"]}
    assert targets["wheel"] == {"packages": [f"src/{name.replace('-', '_')}"]}


@packages
def test_sibling_arrows(projects: dict[str, Any], name: str) -> None:
    needed = dict(map(requirement, projects[name]["project"]["dependencies"]))
    siblings = {sibling: range for sibling, range in needed.items() if sibling in SIBLINGS}
    assert siblings == dict.fromkeys(SIBLINGS[name], SIBLING_RANGE)


@packages
def test_every_import_is_declared(root: Path, projects: dict[str, Any], name: str) -> None:
    project = projects[name]["project"]
    extras = [text for texts in project.get("optional-dependencies", {}).values() for text in texts]
    declared = {requirement(text)[0] for text in [*project["dependencies"], *extras]}
    allowed = {IMPORT_NAMES.get(distribution, distribution.replace("-", "_")) for distribution in declared}
    own = name.replace("-", "_")
    undeclared = {
        top: place
        for top, place in imported_tops(source(root, name)).items()
        if top not in allowed | {own} | sys.stdlib_module_names
    }
    assert not undeclared, f"{name} imports what its pyproject.toml does not declare: {undeclared}"


@packages
def test_entry_points_lead_into_their_own_distribution(projects: dict[str, Any], name: str) -> None:
    project = projects[name]["project"]
    groups = [project.get("scripts", {}), *project.get("entry-points", {}).values()]
    for target in (value for group in groups for value in group.values()):
        assert target.partition(":")[0].partition(".")[0] == name.replace("-", "_")


def test_the_environment_for_people_has_what_the_demo_needs(root: Path, projects: dict[str, Any]) -> None:
    """Hatch calls the workspace as its folder is called, most often vyre, and then finds no extra of it."""
    people = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["envs"]["default"]
    file = people["scripts"]["demo"].split("--picture ")[1].split()[0]
    assert f"/{Path(file).parent}/" in (root / ".gitignore").read_text("utf-8").splitlines()
    assert f"`{file}`" in (root / "README.md").read_text("utf-8")
    demo = projects["vyre"]["project"]["optional-dependencies"]["demo"]
    assert {text for text in demo if not text.startswith("vyre")} <= set(people["dependencies"])
    assert not [text for text in people["dependencies"] if text.startswith("vyre[")]


# ── what the pages say of them ───────────────────────────────────────────────────────────────────────────────────────


def test_the_front_page_says_what_each_needs(root: Path) -> None:
    rows = re.findall(
        r"^\| \[`([\w-]+)`\]\(packages/.*\| (.*) \|$", (root / "README.md").read_text("utf-8"), re.MULTILINE
    )
    said = {name: {f"vyre-{word}" for word in needs.split(", ")} - {"vyre-NumPy"} for name, needs in rows}
    assert said == SIBLINGS


def test_a_layer_is_installed_from_a_clone_with_those_below_it(root: Path) -> None:
    """No index has them, so that pip finds them only by their paths."""
    page = (root / "docs/install.md").read_text("utf-8")
    commands = [
        line.split("./packages/")[1:] for line in page.splitlines() if line.startswith("pip install ./packages/v")
    ]
    assert commands
    for command in commands:
        layers = [word.strip() for word in command]
        assert set(layers) == {layers[-1], *SIBLINGS[layers[-1]]}
