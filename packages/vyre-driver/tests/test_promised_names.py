"""The surface that is promised: each of its names imports from `vyre_driver`, or has a reason why not yet."""

import tomllib
from pathlib import Path

import pytest

import vyre_driver

TABLE = tomllib.loads(Path(__file__).with_name("promised_names.toml").read_text("utf-8"))
HERE = TABLE["here"].split()
LATER = {name: reason for reason, names in TABLE["later"].items() for name in names.split()}


def test_the_table_is_complete_and_says_each_name_once() -> None:
    assert len(HERE) == len(set(HERE))
    assert not set(HERE) & set(LATER)
    assert len(HERE) + len(LATER) == 132 + 18


@pytest.mark.parametrize("name", HERE)
def test_a_name_that_is_here_imports(name: str) -> None:
    assert name in vyre_driver.__all__
    assert getattr(vyre_driver, name) is not None


@pytest.mark.parametrize("name", LATER)
def test_a_name_that_is_not_here_yet_is_no_stub(name: str) -> None:
    assert not hasattr(vyre_driver, name), f"{name} imports now: move it up"
