import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyopencl as cl
import pytest

from vyre_driver_opencl.quirks.compiler_options import QUIRKS, VARIABLE, needed, withheld, withholding

OF_A_RELEASE = "-disable-x86-scalar-to-vector"
OF_ALL = "-force-vector-interleave=4096"
BOTH = f"{OF_A_RELEASE} {OF_ALL}"


def device(version: str = "2026.22.10.0.01_160000", vendor: str = "Intel(R) Corporation", type: int = 2) -> Any:
    platform = SimpleNamespace(vendor=vendor)
    return SimpleNamespace(platform=platform, type=type, driver_version=version)


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_release_gets_the_options_that_it_knows() -> None:
    assert withheld(device()) == (OF_A_RELEASE, OF_ALL)


@pytest.mark.parametrize("version", ["2026.23.1", "2025.22.10"])
def test_another_release_gets_what_all_know(version: str) -> None:
    assert withheld(device(version)) == (OF_ALL,)


@pytest.mark.parametrize(
    "other",
    [{"vendor": "The pocl project"}, {"type": cl.device_type.GPU}],
)
def test_nobody_else_is_told_a_word_that_would_end_the_process(other: dict[str, Any]) -> None:
    assert withheld(device(**other)) == ()
    with withholding(device(**other)):
        assert VARIABLE not in os.environ


def test_it_is_set_for_a_moment() -> None:
    with withholding(device()):
        assert os.environ[VARIABLE] == BOTH
    assert VARIABLE not in os.environ


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "-stats")
    with withholding(device()):
        assert os.environ[VARIABLE] == f"-stats {BOTH}"
    assert os.environ[VARIABLE] == "-stats"


def test_an_option_that_the_user_has_set_is_not_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, f"{OF_A_RELEASE}=false")
    assert withheld(device()) == (OF_ALL,)
    assert needed(device()) == (OF_A_RELEASE, OF_ALL)


def test_each_quirk_names_a_test_that_there_is() -> None:
    for quirk in QUIRKS:
        file, _, test = quirk.reproducer.partition("::")
        assert f"def {test}(" in (Path(__file__).parents[1] / file).read_text("utf-8")
