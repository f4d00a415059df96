"""The store: what it gives is what was put, whatever happened to the file meanwhile."""

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from vyre_driver.pipeline import database
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.misses import PipelineCacheMissEvidence, PipelineCacheMissReason
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore, shared_store

A = EntryIdentity(kind=PayloadKind.CODE, key="aa", subject="program a", policy="64", device="this", text="all of a")
B = replace(A, key="bb", subject="program b", text="all of b")
COST = 10**9


@pytest.fixture
def settings(tmp_path: Path) -> CacheSettings:
    return CacheSettings(CacheMode.READ_WRITE, tmp_path / "cache")


@pytest.fixture
def store(settings: CacheSettings) -> Iterator[DiskStore]:
    with closing(DiskStore(settings)) as store:
        yield store


_opened: list[DiskStore] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Stores that a test has opened are closed after it: Python 3.13 and later warn of those that are not."""
    yield
    while _opened:
        _opened.pop().close()


def again(store: DiskStore, **changes: object) -> DiskStore:
    """The same store in what could be another process."""
    store.close()
    _opened.append(DiskStore(replace(store.settings, **changes)))  # type: ignore[arg-type]
    return _opened[-1]


def change(store: DiskStore, statement: str, *values: object) -> None:
    """What only damage does."""
    store.close()
    with closing(sqlite3.connect(store.settings.folder / database.FILE)) as connection, connection:
        connection.execute(statement, values)


# ── what is kept ──


def test_what_was_put_is_there_in_the_next_process(store: DiskStore) -> None:
    assert store.get(A) is None
    assert store.put(A, b"payload", COST)
    assert store.get(A) == b"payload"
    with closing(again(store)) as later:
        assert later.get(A) == b"payload"
        assert later.get(B) is None
        assert later.damaged == 0


def test_a_later_payload_takes_the_place_of_an_earlier(store: DiskStore) -> None:
    store.put(A, b"first", COST)
    store.put(A, b"second", COST)
    assert store.get(A) == b"second"
    assert [entry.key for entry in store.entries()] == ["aa"]


def test_the_folder_is_its_owner_s(store: DiskStore) -> None:
    store.put(A, b"payload", COST)
    assert store.settings.folder.stat().st_mode & 0o077 == 0
    assert not [*store.settings.folder.glob("vyre-new-*")]


def test_an_entry_is_given_only_to_its_own_identity(store: DiskStore) -> None:
    """A key that two identities share (it is a digest) must not give the code of one to the other."""
    store.put(A, b"payload", COST)
    assert store.get(replace(A, text="something else")) is None
    assert store.damaged == 1
    assert store.get(A) is None


def test_uses_are_counted_and_order_the_list(store: DiskStore) -> None:
    store.put(A, b"payload", COST)
    store.put(B, b"payload", COST)
    for _ in range(3):
        store.get(B)
    listed = store.entries()
    assert [(entry.key, entry.uses, entry.damage) for entry in listed] == [("bb", 4, ""), ("aa", 1, "")]
    assert (listed[0].kind, listed[0].subject, listed[0].size, listed[0].cost_ns) == ("code", "program b", 7, COST)


def test_the_same_use_is_not_written_down_twice(store: DiskStore) -> None:
    """Only a use long after the last one that is known changes the file of a process which has read alone."""
    store.put(A, b"payload", COST)

    def uses_after(seconds: float) -> int:
        change(store, "UPDATE heat SET used = ?", time.time() - seconds)
        with closing(again(store)) as later:
            assert later.get(A) == b"payload"
        with closing(again(store)) as asked:
            return asked.entries()[0].uses

    assert [uses_after(seconds) for seconds in (0, 3500, 3700, -3700)] == [1, 1, 2, 3]


def test_kinds_are_forgotten_apart(store: DiskStore) -> None:
    store.put(A, b"payload", COST)
    store.put(replace(A, kind=PayloadKind.FACTS, key="ff"), b"facts", COST)
    assert store.forget(PayloadKind.FACTS) == 1
    assert store.get(A) == b"payload"
    assert [entry.kind for entry in store.entries()] == ["code"]


def test_the_bound_holds(settings: CacheSettings) -> None:
    with closing(DiskStore(replace(settings, size=1000))) as store:
        for n in range(20):
            store.put(replace(A, key=f"{n:02}"), bytes(100), COST)
        assert sum(entry.size for entry in store.entries()) <= 1000
        assert store.evicted >= 10
        assert not store.put(B, bytes(1001), COST)
        assert store.verify() == []


def test_pruning_and_clearing(store: DiskStore) -> None:
    for n in range(10):
        store.put(replace(A, key=f"{n:02}"), bytes(100), COST)
    assert store.prune() == 0
    assert store.prune(500) == 6
    assert len(store.entries()) == 4
    store.clear()
    assert [*store.settings.folder.iterdir()] == []
    assert store.put(A, b"payload", COST)


# ── why something was missed ──


def test_every_reason_of_a_miss(store: DiskStore) -> None:
    reasons = [store.evidence(A).reason]
    store.put(A, b"payload", COST)
    for missed in (
        replace(A, subject="program c", policy="1", device="that"),
        replace(A, policy="1", device="that"),
        replace(A, device="that"),
        replace(A, key="cc", text="by another emitter"),
    ):
        reasons.append(store.evidence(missed).reason)
    assert reasons == list(PipelineCacheMissReason)
    assert store.evidence(replace(A, policy="1")) == PipelineCacheMissEvidence(1, 1, 0, 0)


# ── damage ──

FIELDS = ("key", "kind", "subject", "policy", "device", "identity", "cost_ns", "digest", "payload")


@pytest.mark.parametrize("field", FIELDS)
def test_a_flipped_byte_in_any_field_is_found(store: DiskStore, field: str) -> None:
    store.put(A, b"payload", COST)
    store.close()
    with closing(sqlite3.connect(store.settings.folder / database.FILE)) as connection, connection:
        (value,) = connection.execute(f"SELECT CAST({field} AS BLOB) FROM entry").fetchone()
        flipped = bytes([value[0] ^ 1, *value[1:]])
        text = flipped if field in ("digest", "payload") else flipped.decode()
        connection.execute(f"UPDATE entry SET {field} = ?", (text,))
    later = again(store)
    assert len(later.verify()) == 1
    assert later.get(A) is None
    assert later.put(A, b"made again", COST)
    assert later.get(A) == b"made again"
    later.prune()
    assert later.verify() == []
    assert [entry.key for entry in later.entries()] == ["aa"]
    later.close()


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [b"\xff\xfe", 7, "text"])
def test_a_value_of_another_type_is_found(store: DiskStore, field: str, value: object) -> None:
    store.put(A, b"payload", COST)
    store.close()
    with closing(sqlite3.connect(store.settings.folder / database.FILE)) as connection, connection:
        connection.execute(f"UPDATE entry SET {field} = ?", (value,))
    later = again(store)
    assert later.verify()
    assert later.get(A) is None
    later.prune()
    assert later.entries() == []
    later.close()


def test_damaged_heat_only_cools(store: DiskStore) -> None:
    store.put(A, b"payload", COST)
    change(store, "UPDATE heat SET uses = 'many', used = -1e300")
    with closing(again(store)) as later:
        assert [entry.uses for entry in later.entries()] == [0]
        assert later.get(A) == b"payload"
        assert later.verify() == []
    change(store, "DELETE FROM heat")
    with closing(again(store)) as later:
        assert [entry.uses for entry in later.entries()] == [0]


@pytest.mark.parametrize("how", ["overwritten", "cut", "emptied", "another layout"])
def test_a_damaged_file_is_put_aside(store: DiskStore, how: str, caplog: pytest.LogCaptureFixture) -> None:
    for n in range(50):
        store.put(replace(A, key=f"{n:02}"), os.urandom(3000), COST)
    store.put(A, b"payload", COST)
    store.close()
    path = store.settings.folder / database.FILE
    match how:
        case "overwritten":
            path.write_bytes(b"this is no database" * 1000)
        case "cut":
            path.write_bytes(path.read_bytes()[:10_000])
        case "emptied":
            path.write_bytes(b"")
        case _:
            change(store, "DROP TABLE entry")
    with closing(again(store)) as later:
        assert later.get(A) is None
        assert later.put(A, b"made again", COST) or later.put(A, b"made again", COST)
        assert later.get(A) == b"made again"
        assert later.verify() == []
    assert (store.settings.folder / database.DAMAGED).exists()
    assert sum("damaged and begins anew" in message for message in caplog.messages) == 1


@pytest.mark.parametrize("step", [13, pytest.param(3, marks=pytest.mark.slow)])
def test_any_byte_of_the_layout_may_flip(step: int, store: DiskStore) -> None:
    """The statements that made the tables are text in the file: they may not decode, or mean something else. The next
    process puts such a file aside, and keeps again."""
    store.put(B, b"payload", COST)
    store.close()
    path = store.settings.folder / database.FILE
    whole = path.read_bytes()
    start = whole.index(b"CREATE TABLE heat")
    of_header = [16, 18, 19, 20, 44, 47, 52, 56, 59, 60, 68, 96]
    for position in (*of_header, *range(start, whole.index(b"payload BLOB", start) + 25, step)):
        for bits in (0x55, 0x80):
            path.write_bytes(whole[:position] + bytes([whole[position] ^ bits]) + whole[position + 1 :])
            with closing(again(store)) as later:
                assert later.get(B) in (b"payload", None)
                assert later.put(A, b"made", COST), (position, bits)
                assert later.get(A) == b"made"
                later.prune()
                assert later.verify() == []


@pytest.mark.parametrize("rest", [b"", b"rubbish" * 1000])
def test_a_log_of_nothing_is_passed_over(store: DiskStore, rest: bytes) -> None:
    store.put(A, b"payload", COST)
    store.close()
    for kind in ("-wal", "-shm", "-journal"):
        path = store.settings.folder / (database.FILE + kind)
        path.write_bytes(rest)
        path.chmod(0o600)
        with closing(again(store)) as later:
            assert later.get(A) == b"payload"
            assert later.put(B, b"payload", COST)
            assert later.verify() == []


def test_a_file_that_is_damaged_again_and_again_is_left(
    store: DiskStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_create", lambda path: path.write_bytes(b"this is no database" * 1000))
    for _ in range(10):
        assert not store.put(A, b"payload", COST)
    assert store.refusal
    assert not store.keeps
    assert len(caplog.messages) == 4
    assert "is not used: file is not a database. Fix: " in caplog.messages[-1]


def test_what_has_no_bytes_damages_nothing(store: DiskStore) -> None:
    store.put(A, b"payload", COST)
    assert not store.put(replace(B, subject="\ud800"), b"payload", COST)
    assert store.get(A) == b"payload"
    assert store.damaged == 0


def test_any_byte_of_the_file_may_flip(store: DiskStore) -> None:
    """Wherever it is, what comes out is right or nothing."""
    payloads = {f"{n:02}": os.urandom(700) for n in range(12)}
    for key, payload in payloads.items():
        store.put(replace(A, key=key), payload, COST)
    store.close()
    path = store.settings.folder / database.FILE
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 150)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        with closing(again(store)) as later:
            for key, payload in payloads.items():
                assert later.get(replace(A, key=key)) in (None, payload)


# ── places that cannot be used ──


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    store = DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path / "file" / "cache"))
    for _ in range(3):
        assert store.get(A) is None
        assert not store.put(A, b"payload", COST)
    assert not store.keeps
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("caching stops in")
    assert caplog.messages[0].endswith("Fix: remove that file, or set VYRE_CACHE_DIR to another folder")


@pytest.mark.skipif(os.devnull != "/dev/null", reason="the null device has no path here")
@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/.cache/vyre"])
def test_a_device_is_neither_to_be_removed_nor_closed_to_others(place: str, caplog: pytest.LogCaptureFixture) -> None:
    """A home folder of /dev/null is that of many services."""
    store = DiskStore(CacheSettings(CacheMode.READ_WRITE, Path(place)))
    assert store.get(A) is None
    assert not store.put(A, b"payload", COST)
    (message,) = caplog.messages
    assert message.endswith("Fix: set VYRE_CACHE to off, which stores nothing, or set VYRE_CACHE_DIR to another folder")


def test_a_folder_that_this_user_may_not_make_is_not_full(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/nonexistent")

    store = DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path / "cache"))
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert not store.put(A, b"payload", COST)
    (message,) = caplog.messages
    assert message.endswith("'/nonexistent'. Fix: set VYRE_CACHE_DIR to a folder that this user may read and write")


def test_a_read_only_file_is_read(
    store: DiskStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(A, b"payload", COST)
    store.close()
    reader = again(store)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with closing(reader):
        reader._open().execute("PRAGMA query_only = ON")
        assert reader.get(A) == b"payload"
        assert not reader.put(B, b"payload", COST)
        assert not reader.put(B, b"payload", COST)
        assert reader.get(A) == b"payload"
    assert len(caplog.messages) == 1


def test_reading_only_writes_nothing(store: DiskStore) -> None:
    with closing(DiskStore(replace(store.settings, mode=CacheMode.READ))) as reader:
        assert reader.get(A) is None
        assert not store.settings.folder.exists()
    store.put(A, b"payload", COST)
    store.close()
    before = (store.settings.folder / database.FILE).read_bytes()
    with closing(DiskStore(replace(store.settings, mode=CacheMode.READ))) as reader:
        assert reader.get(A) == b"payload"
        assert not reader.put(B, b"payload", COST)
        assert reader.prune(0) == reader.forget(PayloadKind.CODE) == 0
        reader.discard(A, "a wish")
    assert (store.settings.folder / database.FILE).read_bytes() == before


def test_a_full_disk_keeps_what_is_there(store: DiskStore, caplog: pytest.LogCaptureFixture) -> None:
    store.put(A, b"payload", COST)
    pages = store._open().execute("PRAGMA page_count").fetchone()[0]
    store._open().execute(f"PRAGMA max_page_count = {pages}")
    assert not store.put(B, os.urandom(10**6), COST)
    assert not store.put(B, b"small", COST)
    assert store.get(A) == b"payload"
    assert store.verify() == []
    (message,) = caplog.messages
    assert message.startswith("caching stops in ")
    assert "Fix: free space there, or set VYRE_CACHE_DIR to a folder" in message


def test_a_busy_file_is_passed_over(store: DiskStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(A, b"payload", COST)
    store.close()
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.05)
    with closing(sqlite3.connect(store.settings.folder / database.FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert not store.put(B, b"payload", COST)
        assert store.get(A) == b"payload"
        other.execute("ROLLBACK")
    assert store.put(B, b"payload", COST)


def test_a_lock_that_is_held_for_ever_is_not_waited_for_again_and_again(
    store: DiskStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(A, b"payload", COST)
    store.close()
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.2)
    with closing(sqlite3.connect(store.settings.folder / database.FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        assert not any(store.put(replace(A, key=str(n)), b"payload", COST) for n in range(50))
        assert time.monotonic() - started < 5  # 3 waits of 0.2 s, not 50
        other.execute("ROLLBACK")
    assert [line.partition(" is not used: ")[2][:18] for line in caplog.messages] == ["database is locked"]


@pytest.mark.parametrize("years", [-100, -1, 1, 100, 1e9])
def test_any_clock_will_do(store: DiskStore, monkeypatch: pytest.MonkeyPatch, years: float) -> None:
    """Entries of another time are found, listed and evicted; what is used then counts afterwards."""
    store.put(A, b"payload", COST)
    store.close()
    now = time.time() + years * 365 * 24 * 3600
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: now)
        with closing(again(store)) as then:
            assert then.get(A) == b"payload"
            assert then.put(B, b"payload", COST)
            assert {entry.key for entry in then.entries()} == {"aa", "bb"}
    with closing(again(store)) as back:
        assert back.get(A) == back.get(B) == b"payload"
        assert back.prune(10) == 1
        assert back.verify() == []


# ── other processes, as other connections of this one ──


def test_what_another_process_has_cleared_is_left(store: DiskStore) -> None:
    """Not written on into a file without a name, nor with the log of another file."""
    store.put(A, b"payload", COST)
    with closing(again(store)) as other, closing(again(store)) as third:
        for one in (store, other):
            assert one.get(A) == b"payload"
        third.clear()
        assert store.get(A) is None
        assert store.put(B, b"payload", COST)
        assert other.get(B) == b"payload"
        assert {entry.key for entry in third.entries()} == {"bb"}
        third.clear()
        assert other.entries() == []
        assert other.put(A, b"payload", COST)
        assert store.get(A) == b"payload"
        assert store.damaged == other.damaged == 0
        assert not store.refusal


def test_a_file_that_cannot_be_made_leaves_nothing(settings: CacheSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LAYOUT", (*database._LAYOUT, "CREATE TABLE entry (key)"))
    with closing(DiskStore(settings)) as store:
        assert not store.put(A, b"payload", 1)
    assert not [*settings.folder.glob(f"{database.NEW}*")]


def test_files_of_processes_that_are_gone_are_removed(store: DiskStore) -> None:
    store.put(A, b"payload", 1)
    store.close()
    left = [store.settings.folder / f"{database.NEW}x.sqlite3{end}" for end in ("", "-wal", "-shm")]
    recent = store.settings.folder / f"{database.NEW}y.sqlite3"
    for path in (*left, recent):
        path.touch()
    for path in left:
        os.utime(path, (1e9, 1e9))
    assert store.get(A) == b"payload"
    assert [path.exists() for path in (*left, recent)] == [False, False, False, True]


def test_clearing_leaves_files_that_another_process_is_making(store: DiskStore) -> None:
    """What was left of a process that is gone is deleted."""
    store.put(A, b"payload", COST)
    new, left = (store.settings.folder / f"{database.NEW}{name}.sqlite3-journal" for name in ("new", "left"))
    for path in (new, left):
        path.write_bytes(b"")
    os.utime(left, (time.time() - 2 * database.ABANDONED_S,) * 2)
    store.clear()
    assert [*store.settings.folder.iterdir()] == [new]


def test_a_file_that_others_always_remove_is_passed_over(store: DiskStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """That another process clears the store again and again is no reason to write to it no more."""
    read = database._read

    def removed(path: Path, how: str) -> sqlite3.Connection:
        path.unlink()
        return read(path, how)

    monkeypatch.setattr(database, "_read", removed)
    assert not store.put(A, b"payload", COST)
    monkeypatch.undo()
    assert (store.refusal, store.keeps) == ("", True)
    assert store.put(A, b"payload", COST)
    assert store.get(A) == b"payload"


def test_what_another_process_has_put_aside_is_left(store: DiskStore, caplog: pytest.LogCaptureFixture) -> None:
    store.put(A, b"payload", COST)
    assert store.get(A) == b"payload"
    with closing(again(store)) as other:
        path = store.settings.folder / database.FILE
        path.replace(path.with_name("elsewhere"))
        path.write_bytes(b"this is no database" * 1000)
        path.chmod(0o600)
        assert other.put(B, b"payload", COST)
        assert store.get(B) == b"payload"
        assert store.get(A) is None
    assert sum("damaged and begins anew" in line for line in caplog.messages) == 1


# ── one store for a process ──


def test_the_environment_names_the_shared_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("VYRE_CACHE", "rw")
    store = shared_store()
    assert store is not None
    assert shared_store() is store
    monkeypatch.setenv("VYRE_CACHE", "off")
    assert shared_store() is None
