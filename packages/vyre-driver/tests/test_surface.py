"""The surface of `vyre_driver`: the stub names it, and every name is there."""

import pytest

import vyre_driver


def test_every_name_is_there() -> None:
    assert [name for name in vyre_driver.__all__ if getattr(vyre_driver, name) is None] == []
    assert {*vyre_driver.__all__} <= {*dir(vyre_driver)}


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="vyre_driver attribute nothing"):
        _ = vyre_driver.nothing
