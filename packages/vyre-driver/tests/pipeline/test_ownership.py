"""Machine code comes out of the store: nothing in it is used that a user other than this one and root may write."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vyre_driver.pipeline import database
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.ownership import Insecure, require_secure_folder
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore

A = EntryIdentity(kind=PayloadKind.CODE, key="aa", subject="a", text="all of a")
ANOTHER = 12345
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no user ids")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
pytestmark = posix


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A store with one entry, inside of a folder of its own."""
    folder = tmp_path / "outer" / "cache"
    with closing(DiskStore(CacheSettings(CacheMode.READ_WRITE, folder))) as store:
        assert store.put(A, b"payload", 1)
    yield folder
    folder.parent.chmod(0o700)


def read(folder: Path, mode: CacheMode = CacheMode.READ_WRITE) -> bytes | None:
    with closing(DiskStore(CacheSettings(mode, folder))) as store:
        found = store.get(A)
        assert store.put(A, b"payload", 1) == store.keeps == (mode is CacheMode.READ_WRITE and not store.refusal)
        return found


def opened_to_all(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o002)


def opened_to_a_group(path: Path) -> None:
    os.chown(path, -1, ANOTHER)
    path.chmod(path.stat().st_mode | 0o020)


def given_away(path: Path) -> None:
    os.chown(path, ANOTHER, -1)


@as_root
@pytest.mark.parametrize("change", [opened_to_all, opened_to_a_group, given_away])
@pytest.mark.parametrize("part", ["..", ".", database.FILE, f"{database.FILE}-wal"])
@pytest.mark.parametrize("mode", [CacheMode.READ, CacheMode.READ_WRITE])
def test_what_another_user_may_write_is_not_used(
    folder: Path, part: str, change: Callable[[Path], None], mode: CacheMode, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / f"{database.FILE}-wal").touch(mode=0o600)
    change((folder / part).resolve())
    assert read(folder, mode) is None
    (line,) = caplog.messages
    assert "is not used" in line
    assert "other users may write" in line or f"belongs to user {ANOTHER}" in line
    assert "Fix: " in line


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if os.geteuid() == 0:
        given_away(folder)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: ANOTHER)
    assert read(folder) is None
    assert ["belongs to user" in line for line in caplog.messages] == [True]


def test_a_sticky_folder_may_be_on_the_way_but_hold_no_store(folder: Path) -> None:
    """In /tmp others cannot rename our files, but can put a journal beside them."""
    folder.parent.chmod(0o1777)
    assert read(folder) == b"payload"
    folder.chmod(0o1777)
    assert read(folder) is None


def test_links_are_followed_and_checked(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to("outer/../outer")
    (tmp_path / "whole").symlink_to(tmp_path / "way" / "cache")
    assert read(tmp_path / "whole") == b"payload"
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "link").symlink_to(folder)
    (tmp_path / "whole").unlink()
    (tmp_path / "whole").symlink_to(tmp_path / "open" / "link")
    assert read(tmp_path / "whole") == b"payload"
    opened_to_all(tmp_path / "open")
    assert read(tmp_path / "whole") is None


@as_root
def test_a_link_of_another_user_is_not_followed(folder: Path, tmp_path: Path) -> None:
    """Even from a folder in which only its owner may rename it."""
    tmp_path.chmod(0o1777)
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert read(link) == b"payload"
    os.chown(link, ANOTHER, -1, follow_symlinks=False)
    with pytest.raises(Insecure, match=f"belongs to user {ANOTHER}"):
        require_secure_folder(link)
    assert read(link) is None


def test_links_in_a_circle_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        require_secure_folder(tmp_path / "a" / "cache")
    assert read(tmp_path / "a" / "cache") is None
    assert len(caplog.messages) == 1


def as_folder(path: Path) -> None:
    path.mkdir()


def as_fifo(path: Path) -> None:
    os.mkfifo(path)


def as_dangling_link(path: Path) -> None:
    path.symlink_to("nothing")


def as_link_to_a_store(path: Path) -> None:
    """Whose journal would lie in another folder than the one that was checked."""
    with closing(DiskStore(CacheSettings(CacheMode.READ_WRITE, path.parent.parent / "elsewhere"))) as store:
        store.put(A, b"payload", 1)
    path.symlink_to(path.parent.parent / "elsewhere" / database.FILE)


def as_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("something", [as_folder, as_fifo, as_dangling_link, as_link_to_a_store, as_socket])
@pytest.mark.parametrize("part", [database.FILE, f"{database.FILE}-wal", f"{database.FILE}-shm"])
@pytest.mark.parametrize("mode", [CacheMode.READ, CacheMode.READ_WRITE])
def test_something_else_has_its_name(
    tmp_path: Path,
    part: str,
    something: Callable[[Path], None],
    mode: CacheMode,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even opened, which can wait for ever."""
    (tmp_path / "c").mkdir(mode=0o700)
    monkeypatch.chdir(tmp_path / "c")  # the name of a socket is short
    something(Path(part))
    folder = tmp_path / "c"
    if mode is CacheMode.READ and part != database.FILE:
        (folder / database.FILE).touch(mode=0o600)
    assert read(folder, mode) is None
    (line,) = caplog.messages
    assert f"{part} is no regular file. Fix: " in line


@pytest.mark.parametrize("mode", [CacheMode.READ, CacheMode.READ_WRITE])
@pytest.mark.parametrize("place", ["x" * 300, "/".join(["y" * 200] * 30), "/dev/null/cache"])
def test_a_place_that_cannot_be(tmp_path: Path, place: str, mode: CacheMode, caplog: pytest.LogCaptureFixture) -> None:
    assert read(tmp_path / place, mode) is None
    assert len(caplog.messages) == 1 or (mode is CacheMode.READ and not caplog.messages)
    assert all(". Fix: " in line for line in caplog.messages)
    assert [*tmp_path.iterdir()] == []


RIGHTS = """
import logging, os, sys, tempfile
import urllib.parse  # which `pathlib` imports late, when this user may no longer read the library
from pathlib import Path
from vyre_driver.pipeline import eviction
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore

lines = []
logging.getLogger("vyre.cache").addFilter(lambda record: lines.append(record.getMessage()))
A = EntryIdentity(kind=PayloadKind.CODE, key="aa", subject="a", text="all of a")
if os.geteuid() == 0:  # rights are nothing to root
    os.setgroups([])
    os.setgid(12345)
    os.setuid(12345)
with tempfile.TemporaryDirectory() as place:
    for n, (of_folder, of_file) in enumerate([(0, 0o600), (0o700, 0), (0o500, 0o400), (0o500, 0o600), (0o300, 0o600)]):
        folder = Path(place) / str(n)
        store = DiskStore(CacheSettings(CacheMode.READ_WRITE, folder))
        assert store.put(A, b"payload", 1)
        store.close()
        (folder / "vyre-1.sqlite3").chmod(of_file)
        folder.chmod(of_folder)
        for mode in (CacheMode.READ_WRITE, CacheMode.READ):
            lines.clear()
            store = DiskStore(CacheSettings(mode, folder))
            found, kept, again = store.get(A), store.put(A, b"payload", 1), store.put(A, b"payload", 1)
            store.close()
            print(n, mode.value, found is not None, kept, again, len(lines))
        folder.chmod(0o700)
"""


def test_rights_that_are_missing() -> None:
    """Nothing may be read, nothing may be written, or both, of file and of folder."""
    done = subprocess.run([sys.executable, "-c", RIGHTS], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == [
        "0 rw False False False 1",
        "0 ro False False False 1",
        "1 rw False False False 1",
        "1 ro False False False 1",
        "2 rw True False False 1",
        "2 ro True False False 0",
        "3 rw True False False 1",
        "3 ro True False False 0",
        "4 rw True True True 0",
        "4 ro True False False 0",
    ], done.stderr
