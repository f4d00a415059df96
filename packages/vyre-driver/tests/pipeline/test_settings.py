"""The three variables of the store: what each value means, and what means nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from vyre_driver.errors import InvalidSetting
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.settings import DEFAULT_SIZE, CacheMode, CacheSettings, GuardSettings, flag
from vyre_driver.pipeline.store import DiskStore


def test_without_variables_code_is_kept_in_the_user_s_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    settings = CacheSettings.of({})
    assert (settings.mode, settings.size) == (CacheMode.READ_WRITE, DEFAULT_SIZE)
    assert settings.folder.name == "vyre" or settings.folder.parent.name == "vyre"
    assert CacheSettings.of({"VYRE_CACHE": "", "VYRE_CACHE_DIR": "", "VYRE_CACHE_SIZE": ""}) == settings


@pytest.mark.parametrize("folder", ["/there", None])
def test_the_user_s_folder_is_that_of_platformdirs(monkeypatch: pytest.MonkeyPatch, folder: str | None) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if folder is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", folder)
    assert CacheSettings.of({}).folder == user_cache_path("vyre", appauthor=False)


@pytest.mark.parametrize("mode", CacheMode)
def test_every_mode_has_its_word(mode: CacheMode) -> None:
    assert CacheSettings.of({"VYRE_CACHE": mode.value.upper(), "VYRE_CACHE_DIR": "/there"}).mode is mode


def test_a_relative_folder_is_that_of_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CacheSettings.of({"VYRE_CACHE_DIR": "here"}).folder == tmp_path / "here"
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    settings = CacheSettings.of({"VYRE_CACHE_DIR": "here"})
    assert not DiskStore(settings).put(
        EntryIdentity(kind=PayloadKind.CODE, key="k", subject="s", text="t"), b"payload", 1
    )
    assert [". Fix: " in line for line in caplog.messages] == [True]


HOMELESS = """
import logging, os
lines = []
logging.getLogger("vyre.cache").addFilter(lambda record: lines.append(record.getMessage()))
import platformdirs, vyre  # what the user that follows cannot read
from vyre_driver.pipeline.store import shared_store
if os.geteuid() == 0:
    os.setuid(54321)
assert [shared_store() for _ in range(3)] == [None] * 3
assert [line.partition(". Fix: ")[0] for line in lines] == [
    "nothing is cached between processes: this user has no home folder"
]
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes a user without an entry")
def test_a_user_without_a_home_keeps_nothing() -> None:
    environment = {"PATH": os.environ["PATH"], "VYRE_CACHE": "rw"}
    done = subprocess.run(
        [sys.executable, "-c", HOMELESS], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_folder_may_be_named_from_home() -> None:
    assert CacheSettings.of({"VYRE_CACHE_DIR": "~/there"}).folder == Path.home() / "there"


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("1000", 1000), ("3k", 3072), ("2M", 2**21), ("1 GiB", 2**30), ("5kb", 5120), (" 7B ", 7)],
)
def test_sizes(text: str, size: int) -> None:
    assert CacheSettings.of({"VYRE_CACHE_SIZE": text, "VYRE_CACHE_DIR": "/there"}).size == size


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "VYRE_CACHE",
            "on",
            "VYRE_CACHE: got 'on', expected one of off, ro, rw. Fix: correct the variable, or unset it",
        ),
        ("VYRE_CACHE_SIZE", "much", "VYRE_CACHE_SIZE: got 'much', expected bytes, such as 64M."),
        ("VYRE_CACHE_SIZE", "-1", "VYRE_CACHE_SIZE: got '-1', expected bytes, such as 64M."),
        ("VYRE_CACHE_SIZE", "1T", "VYRE_CACHE_SIZE: got '1T', expected bytes, such as 64M."),
        ("VYRE_CACHE_SIZE", "9" * 5000, "VYRE_CACHE_SIZE: got '99"),
        (
            "VYRE_CACHE_DIR",
            "~no-such-user/x",
            "VYRE_CACHE_DIR: got '~no-such-user/x', expected a folder, or ~ of a user",
        ),
    ],
)
def test_what_means_nothing_is_refused(variable: str, value: str, message: str) -> None:
    with pytest.raises(InvalidSetting) as error:
        CacheSettings.of({"VYRE_CACHE_DIR": "/there", variable: value})
    assert str(error.value).startswith(message)


def test_only_spaces_count_as_unset_and_spaces_around_a_value_do_not_matter() -> None:
    names = ("VYRE_CACHE", "VYRE_CACHE_DIR", "VYRE_CACHE_SIZE", "VYRE_COMPILE_GUARD", "VYRE_COMPILE_TIMEOUT")
    unset = {"VYRE_CACHE_DIR": "/there"}
    blank = dict.fromkeys(names, "  ") | unset
    assert CacheSettings.of(blank) == CacheSettings.of(unset)
    assert GuardSettings.of(blank) == GuardSettings.of({})
    assert CacheSettings.of({"HOME": "/there", "VYRE_CACHE_DIR": " "}) == CacheSettings.of({"HOME": "/there"})
    around = {
        "VYRE_CACHE": " RO ",
        "VYRE_CACHE_SIZE": " 1k ",
        "VYRE_COMPILE_GUARD": "Always ",
        "VYRE_COMPILE_TIMEOUT": " 5",
    }
    cache, guard = CacheSettings.of(around | unset), GuardSettings.of(around)
    assert (cache.mode.value, cache.size, guard.mode.value, guard.timeout) == ("ro", 1024, "always", 5.0)


def test_a_flag_is_0_or_1() -> None:
    texts = {"1": True, "0": False, "": False, " 1 ": True, "  ": False}
    assert {text: flag("VYRE_VERIFY", {"VYRE_VERIFY": text}) for text in texts} == texts
    assert not flag("VYRE_VERIFY", {})
    for text in ("2", "yes", "true", "1 0"):
        with pytest.raises(InvalidSetting, match=r"VYRE_VERIFY: got .*, expected 0 or 1"):
            flag("VYRE_VERIFY", {"VYRE_VERIFY": text})
