import os
from types import SimpleNamespace
from typing import Any

import pytest

from vyre_driver_opencl.api import cl
from vyre_driver_opencl.withheld import VARIABLE, withheld, withholding

OPTION = "-disable-x86-scalar-to-vector"


def device(version: str = "2026.22.10.0.01_160000", vendor: str = "Intel(R) Corporation", type: int = 2) -> Any:
    platform = SimpleNamespace(get_info={cl.platform_info.VENDOR: vendor}.__getitem__)
    asked = cl.device_info
    own = {asked.PLATFORM: platform, asked.TYPE: type, asked.DRIVER_VERSION: version}
    return SimpleNamespace(get_info=own.__getitem__)


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_release_that_knows_the_option_gets_it() -> None:
    assert withheld(device()) == (OPTION,)


@pytest.mark.parametrize(
    "other",
    [{"version": "2026.23.1"}, {"version": "2025.22.10"}, {"vendor": "The pocl project"}, {"type": cl.device_type.GPU}],
)
def test_nobody_else_is_told_a_word_that_would_end_the_process(other: dict[str, Any]) -> None:
    assert withheld(device(**other)) == ()
    with withholding(device(**other)):
        assert VARIABLE not in os.environ


def test_it_is_set_for_a_moment() -> None:
    with withholding(device()):
        assert os.environ[VARIABLE] == OPTION
    assert VARIABLE not in os.environ


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "-stats")
    with withholding(device()):
        assert os.environ[VARIABLE] == f"-stats {OPTION}"
    assert os.environ[VARIABLE] == "-stats"


def test_an_option_that_the_user_has_set_is_not_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"{OPTION}=false")
    assert withheld(device()) == ()
