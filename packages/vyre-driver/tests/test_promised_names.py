"""The surface that is promised: each of its names imports from `vyre_driver`, or has a reason why not yet."""

import ast
import tomllib
from pathlib import Path

import pytest

import vyre_driver
from vyre_driver import compat

TABLE = tomllib.loads(Path(__file__).with_name("promised_names.toml").read_text("utf-8"))
HERE = TABLE["here"].split()
LATER = {name: reason for reason, names in TABLE["later"].items() for name in names.split()}


def test_the_table_is_complete_and_says_each_name_once() -> None:
    assert len(HERE) == len(set(HERE))
    assert not set(HERE) & set(LATER)
    assert len(HERE) + len(LATER) == 132 + 18


def test_a_name_that_is_here_imports() -> None:
    assert {*HERE} <= {*vyre_driver.__all__}
    assert [name for name in HERE if getattr(vyre_driver, name) is None] == []


def test_a_name_that_is_not_here_yet_is_no_stub() -> None:
    assert not [name for name in LATER if hasattr(vyre_driver, name)], "move up what imports now"


def aliases() -> list[str]:
    """The names that `compat` gives to what has another name."""
    targets = [
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        for node in ast.parse(Path(compat.__file__).read_text("utf-8")).body
        if isinstance(node, (ast.AnnAssign, ast.Assign))
    ]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@pytest.mark.parametrize("name", aliases())
def test_an_alias_is_promised_and_is_what_the_driver_offers(name: str) -> None:
    assert name in HERE
    assert getattr(vyre_driver, name) is getattr(compat, name)
