"""One name, one concept: no two public classes share a name.

Concrete drivers are twins: a class of one may have a counterpart in the other, in a file of the same name.
"""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

TWINS = {
    "BuildFailed": "compiler.py",
    "Candidate": "devices.py",
    "DeviceMemory": "memory.py",
    "HostMemory": "memory.py",
    "LoadedKernel": "launch.py",
    "Module": "launch.py",
    "OpenedDevice": "opened.py",
    "Order": "order.py",
    "Recording": "recording.py",
    "Work": "order.py",
}
"""Classes that each concrete driver has, and the file that declares them."""
REFINED = {"InvalidProgram"}
"""Errors of the driver that derive from the error of the same name in the foundation."""


@cache
def classes(root: Path) -> dict[str, list[Path]]:
    """The files that declare each public class, relative to `packages`."""
    found = defaultdict(list)
    for file in sorted((root / "packages").glob("*/src/**/*.py")):
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "class " in text else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(file.relative_to(root / "packages"))
    return found


def shared_names(declared: dict[str, list[Path]]) -> list[str]:
    """One line for each class name that several files declare without being twins."""
    return [
        f"{name}: {', '.join(map(str, files))}"
        for name, files in sorted(declared.items())
        if len(files) > 1 and name not in REFINED and not is_twin(name, files)
    ]


def is_twin(name: str, files: list[Path]) -> bool:
    """Whether each of `files` is the one that `TWINS` names, each in a concrete driver of its own."""
    drivers = {file.parts[0] for file in files if file.parts[0].startswith("vyre-driver-")}
    return len(drivers) == len(files) and {file.name for file in files} == {TWINS.get(name)}


def test_no_two_public_classes_share_a_name(root: Path) -> None:
    found = shared_names(classes(root))
    assert not found, "name each class for what it is:\n" + "\n".join(found)


def test_every_twin_exists(root: Path) -> None:
    declared = classes(root)
    lonely = [name for name in [*TWINS, *REFINED] if len(declared.get(name, ())) < 2]
    assert not lonely, f"no longer declared twice; remove from the list: {lonely}"


@pytest.mark.parametrize(
    "files",
    [
        ["vyre-driver/src/vyre_driver/plan/launch.py", "vyre-conform/src/vyre_conform/launch.py"],
        ["vyre-driver-opencl/src/vyre_driver_opencl/launch.py", "vyre-driver/src/vyre_driver/launch.py"],
        ["vyre-driver-opencl/src/vyre_driver_opencl/launch.py", "vyre-driver-cuda/src/vyre_driver_cuda/port.py"],
    ],
)
def test_a_shared_name_is_found(files: list[str]) -> None:
    assert shared_names({"Module": [Path(file) for file in files]})


def test_twins_of_concrete_drivers_are_allowed() -> None:
    files = [Path(f"vyre-driver-{x}/src/vyre_driver_{x}/launch.py") for x in ("opencl", "cuda")]
    assert not shared_names({"Module": files})
