"""The surface of `vyre_driver`: the stub names it, and every name is there."""

import subprocess
import sys

import pytest

import vyre_driver


def test_every_name_is_there() -> None:
    assert [name for name in vyre_driver.__all__ if getattr(vyre_driver, name) is None] == []
    assert {*vyre_driver.__all__} <= {*dir(vyre_driver)}


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="vyre_driver attribute nothing"):
        _ = vyre_driver.nothing


def test_importing_it_imports_no_numpy() -> None:
    """A vendor's registration module imports it, and every listing of backends imports that."""
    code = "import sys, vyre_driver\nprint('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False"]
