"""`import vyre_driver`: cheap, complete, and the three lists that name its surface agree."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import vyre_driver

SOURCE = Path(vyre_driver.__file__)


def names_for_type_checkers() -> dict[str, str]:
    """The `TYPE_CHECKING` block: name → module."""
    block = next(node for node in ast.parse(SOURCE.read_text("utf-8")).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_the_lists_agree() -> None:
    typed = {name: module.removeprefix("vyre_driver.") for name, module in names_for_type_checkers().items()}
    assert typed == vyre_driver._HOME
    assert sorted(typed) == sorted(vyre_driver.__all__)


@pytest.mark.parametrize("name", vyre_driver.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(vyre_driver, name) is not None
    assert name in dir(vyre_driver)


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'vyre_driver' has no attribute 'nothing'"):
        _ = vyre_driver.nothing


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_importing_loads_nothing_of_the_layers() -> None:
    loaded = modules_after("import vyre_driver")
    assert not {m for m in loaded if m.startswith(("vyre_driver.", "vyre_foundation", "numpy", "importlib.metadata"))}


def test_importing_what_a_backend_needs_looks_for_no_distribution() -> None:
    loaded = modules_after("from vyre_driver import VyreBackend, BackendRegistration, plan_launch")
    assert "vyre_driver.backend.contract" in loaded
    assert not {"vyre_driver.engine.backend", "sqlite3", "asyncio"} & loaded
