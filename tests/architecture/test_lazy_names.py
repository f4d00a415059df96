"""Names that a package imports on first use: none is called as a module of the package.

An import of that module would put it in place of what the stub names, so what a name means would depend on the order
of imports.
"""

import ast
from pathlib import Path

import pytest


def ambiguous(stub: Path) -> list[str]:
    """The names of a stub that are modules of the package, and that it takes from another one."""
    modules = {file.stem for file in stub.parent.glob("*.py")} | {file.name for file in stub.parent.iterdir()}
    imports = [node for node in ast.parse(stub.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
    named = [alias.asname or alias.name for node in imports if node.module for alias in node.names]
    return sorted(modules.intersection(named))


def test_no_lazy_name_is_a_module(root: Path) -> None:
    stubs = list(root.glob("packages/*/src/**/__init__.pyi"))
    assert stubs
    found = {str(stub.relative_to(root)): names for stub in stubs if (names := ambiguous(stub))}
    assert not found, f"rename the module: {found}"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from .prove import prove as prove", ["prove"]),
        ("from .proving import prove as prove", ["prove"]),
        ("from . import prove as prove", []),
        ("from .prove import Run as Run", []),
    ],
)
def test_an_ambiguous_name_is_found(tmp_path: Path, line: str, found: list[str]) -> None:
    (tmp_path / "prove.py").touch()
    (tmp_path / "__init__.pyi").write_text(line, "utf-8")
    assert ambiguous(tmp_path / "__init__.pyi") == found
