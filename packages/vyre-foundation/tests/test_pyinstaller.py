"""What a frozen application gets: files that are opened, modules that are imported late, and entry points."""

import runpy
import sys
import tomllib
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from vyre_foundation.pyinstaller import hook_dirs, installed


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the hook says, with stand-ins for PyInstaller's functions, which write down what they are asked for."""
    hooks = ModuleType("PyInstaller.utils.hooks")
    vars(hooks).update(
        collect_data_files=lambda package: [("data", package)],
        copy_metadata=lambda name: [("metadata", name)],
        collect_submodules=lambda package, filter: [n for n in (package, f"{package}.testing.x") if filter(n)],
    )
    for name in ("PyInstaller", "PyInstaller.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, hooks.__name__, hooks)
    (folder,) = hook_dirs()
    return runpy.run_path(str(Path(folder) / "hook-vyre_foundation.py"))


def test_the_entry_point_is_declared() -> None:
    (entry,) = distribution("vyre-foundation").entry_points.select(group="pyinstaller40")
    assert entry.load() is hook_dirs


def test_every_installed_distribution_is_collected_whole(collected: dict[str, Any]) -> None:
    found = dict(installed())
    assert found["vyre-foundation"] == ["vyre_foundation"]
    for name, packages in found.items():
        assert ("metadata", name) in collected["datas"]
        for package in packages:
            assert ("data", package) in collected["datas"]
            assert package in collected["hiddenimports"]
    assert not [name for name in collected["hiddenimports"] if "testing" in name]


@pytest.mark.parametrize(
    "project", sorted(Path(__file__).parents[2].glob("*/pyproject.toml")), ids=lambda p: p.parent.name
)
def test_files_that_are_no_modules_are_in_a_package_that_is_collected(project: Path) -> None:
    """`collect_data_files` takes what lies below a package, and an installation has what lies there."""
    name = tomllib.loads(project.read_text("utf-8"))["project"]["name"]
    package = name.replace("-", "_")
    if find_spec(package) is None:
        pytest.skip("it is not installed")
    assert dict(installed())[name] == [package]
    files = [file for file in (project.parent / "src").rglob("*") if file.suffix not in ("", ".py", ".pyc")]
    assert files
    assert all((project.parent / "src" / package) in file.parents for file in files)


def test_others_are_collected_that_register_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[vyre.backends]\nfast = acme_fast.backend:registration\n", "utf-8")
    (tmp_path / "acme_fast.py").write_text("", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert dict(installed())["acme"] == ["acme_fast"]
