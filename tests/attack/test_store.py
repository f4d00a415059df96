"""Attacks on the store: damaged files, killed writers, processes that clear and damage what others use.

What comes out is what was put, or nothing. Nothing raises, nothing hangs, and the next process can use the store or
says in one line why not.
"""

import logging
import os
import random
import shutil
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vyre_driver.pipeline import database
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore

A = EntryIdentity(kind=PayloadKind.CODE, key="", subject="program", policy="64", device="this", text="all of it")
KEYS = tuple(f"{n:02}" for n in range(12))


def payload(key: str) -> bytes:
    return random.Random(key).randbytes(700)


def opened(folder: Path, mode: CacheMode = CacheMode.READ_WRITE, size: int = 2**20) -> DiskStore:
    return DiskStore(CacheSettings(mode, folder, size))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a store in use: half of the entries are in its log."""
    folder = tmp_path_factory.mktemp("pristine") / "cache"
    with closing(opened(folder)) as first:
        for key in KEYS[:6]:
            first.put(replace(A, key=key), payload(key), 10)
    store = opened(folder)
    for key in KEYS[6:]:
        assert store.put(replace(A, key=key), payload(key), 10)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(files) == 3
    assert len(files[f"{database.FILE}-wal"]) > 10_000
    store.close()
    return files


def flip(data: bytearray, draw: random.Random) -> None:
    for _ in range(draw.choice((1, 1, 1, 2, 30))):
        data[draw.randrange(len(data))] ^= draw.choice((1, 0x55, 0x80, 0xFF))


def flip_early(data: bytearray, draw: random.Random) -> None:
    """The header, and the statements that made the tables."""
    data[draw.choice((draw.randrange(100), draw.randrange(3400, 4096))) % len(data)] ^= 1 << draw.randrange(8)


def cut(data: bytearray, draw: random.Random) -> None:
    del data[draw.choice((0, 1, 100, 4096, draw.randrange(len(data)))) :]


def lengthen(data: bytearray, draw: random.Random) -> None:
    data += draw.randbytes(draw.choice((1, 100, 4096, 50_000)))


def swap(data: bytearray, draw: random.Random) -> None:
    """Two pages."""
    one, other = (4096 * draw.randrange(max(1, len(data) // 4096)) for _ in range(2))
    data[one : one + 4096], data[other : other + 4096] = data[other : other + 4096], data[one : one + 4096]


def blank(data: bytearray, draw: random.Random) -> None:
    start = draw.randrange(len(data))
    data[start : start + 4096] = bytes(len(data[start : start + 4096]))


def replace_all(data: bytearray, draw: random.Random) -> None:
    data[:] = draw.choice((b"\x7fELF", b"SQLite format 3\0", b"")) + draw.randbytes(draw.choice((0, 100, 20_000)))


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip, flip, flip_early, flip_early, flip_early, cut, lengthen, swap, blank, replace_all,
)  # fmt: skip


def test_damaged_files(
    attacks: Any, tmp_path: Path, pristine: dict[str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    """1500 of them at scale 10. Every operation on each, and another process on what that has left."""
    caplog.set_level(logging.WARNING, "vyre.cache")
    for number in range(attacks.count(150)):
        draw = random.Random(f"{attacks.seed} {number}")
        folder = tmp_path / "cache"
        folder.mkdir(mode=0o700)
        files = {name: bytearray(data) for name, data in pristine.items()}
        for name in draw.sample(sorted(files), draw.choice((0, 0, 1))):
            del files[name]
        for name in draw.sample(sorted(files), draw.choice((1, 1, 2)) % (len(files) + 1)):
            draw.choice(DAMAGES)(files[name], draw)
        for name, data in files.items():
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o600)
        for mode in (CacheMode.READ, CacheMode.READ_WRITE, CacheMode.READ_WRITE):
            with closing(opened(folder, mode)) as store:
                caplog.clear()
                for key in KEYS:
                    assert store.get(replace(A, key=key)) in (None, payload(key)), (number, key)
                operations: list[Callable[[], object]] = [
                    store.entries, store.verify, store.flush, store.prune,
                    lambda: store.evidence(replace(A, key="new")),
                    lambda: store.forget(PayloadKind.FACTS),
                    lambda: store.put(replace(A, key="00"), payload("00"), 10),
                    lambda: store.remove(replace(A, key="01")),
                    lambda: store.discard(replace(A, key="02"), "a test"),
                ]  # fmt: skip
                for operation in draw.sample(operations, len(operations)):
                    operation()
                refusals = [line for line in caplog.messages if "Fix: " in line]
                assert len(refusals) <= 1, (number, refusals)
        with closing(opened(folder)) as store:
            assert store.put(replace(A, key="afterwards"), b"payload", 10), number
            assert store.get(replace(A, key="afterwards")) == b"payload", number
            store.prune()
            assert store.verify() == [], number
        shutil.rmtree(folder)


def test_places(attacks: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Folders and files of all kinds under the names of the store, with all kinds of rights."""
    names = [".", database.FILE, *(f"{database.FILE}-{end}" for end in ("wal", "shm", "journal")), database.DAMAGED]
    for number in range(attacks.count(100)):
        draw = random.Random(f"{attacks.seed} place {number}")
        folder = tmp_path / str(number)
        if draw.random() < 0.5:
            with closing(opened(folder)) as store:
                store.put(replace(A, key="00"), payload("00"), 10)
        elif draw.random() < 0.8:
            folder.mkdir(mode=0o700)
        for name in draw.sample(names, draw.choice((1, 1, 2))):
            path = folder / name
            match draw.randrange(6):
                case 0 if path.exists():
                    path.chmod(draw.choice((0, 0o400, 0o200, 0o666, 0o777, 0o1777, 0o4755)))
                case 1 if not path.exists() and path.parent.is_dir():
                    os.mkfifo(path)
                case 2 if not path.exists():
                    path.mkdir(parents=True)
                case 3 if not path.exists() and path.parent.is_dir():
                    path.symlink_to(draw.choice(("nothing", "/dev/zero", "/dev/full", "/proc/self/mem", ".", "loop")))
                case 4 if path.is_file():
                    path.write_bytes(draw.randbytes(draw.choice((0, 3, 5000))))
                case 5 if path.is_file() and os.geteuid() == 0:
                    os.chown(path, 12345, 12345)
        for mode in (CacheMode.READ_WRITE, CacheMode.READ):
            caplog.clear()
            with closing(opened(folder, mode)) as store:
                assert store.get(replace(A, key="00")) in (None, payload("00")), number
                kept = store.put(replace(A, key="01"), payload("01"), 10)
                assert store.get(replace(A, key="01")) in ((payload("01"),) if kept else (None, payload("01"))), number
                store.entries(), store.verify(), store.prune()
                assert len([line for line in caplog.messages if "Fix: " in line]) <= 1, number
        if folder.is_dir():
            folder.chmod(stat.S_IRWXU)


FORKS = """
import os, random, signal, sys, time, traceback
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from vyre_driver.pipeline import database, eviction
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore

A = EntryIdentity(kind=PayloadKind.CODE, key="", subject="program", policy="64", device="this", text="all of it")
def payload(key): return random.Random(key).randbytes(2000)
folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def opened(): return DiskStore(CacheSettings(CacheMode.READ_WRITE, folder, 100_000))

def fork(work, draw):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work(draw)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child
"""

KILLED = """
def work(draw):
    store = opened()
    while True:
        key = str(draw.randrange(200))
        store.put(replace(A, key=key), payload(key), 10)
        if draw.random() < 0.1:
            store.close()

for number in range(count):
    draw = random.Random(f"{seed} {number}")
    children = [fork(work, random.Random(f"{seed} {number} {n}")) for n in range(draw.choice((1, 1, 3)))]
    time.sleep(draw.random() ** 2 * 0.05)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with closing(opened()) as store:
        assert store.verify() == [], number
        assert all(store.get(replace(A, key=e.key)) == payload(e.key) for e in store.entries()), number
        assert store.put(replace(A, key="afterwards"), payload("afterwards"), 10), number
        assert (store.damaged, store.refusal) == (0, ""), number
        if draw.random() < 0.2:
            store.clear()
"""

TOGETHER = """
def work(draw):
    store = opened()
    for _ in range(150):
        key = str(draw.randrange(60))
        found = store.get(replace(A, key=key))
        assert found in (None, payload(key)), "another process's payload is wrong"
        match draw.randrange(12):
            case 0: store.clear()
            case 1: store.remove(replace(A, key=key))
            case 2: store.prune(draw.choice((0, 20_000, None)))
            case 3: assert all(e.damage == "" and e.size == 2000 for e in store.entries())
            case 4: store.close()
            case 5: store.discard(replace(A, key=key), "a test")
            case _: store.put(replace(A, key=key), payload(key), 10)
    assert store.refusal == "", store.refusal
    store.close()

import logging
logging.disable(logging.WARNING)
for number in range(count):
    children = [fork(work, random.Random(f"{seed} {number} {n}")) for n in range(4)]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert statuses == [0] * 4, (number, statuses)
    with closing(opened()) as store:
        assert store.put(replace(A, key="afterwards"), payload("afterwards"), 10), number
        store.prune()
        assert store.verify() == [], number
"""


@pytest.mark.parametrize(("script", "in_ci"), [(KILLED, 30), (TOGETHER, 2)], ids=["killed", "together"])
def test_processes(
    attacks: Any,
    tmp_path: Path,
    bounded: Callable[..., subprocess.CompletedProcess[str]],
    script: str,
    in_ci: int,
) -> None:
    """Writers that are killed at any moment, 300 rounds at scale 10; four processes that use and clear one store."""
    count = attacks.count(in_ci)
    done = bounded(FORKS + script, str(tmp_path / "cache"), str(count), str(attacks.seed), seconds=60 + 5 * count)
    assert done.returncode == 0, done.stderr[-2000:]


LOCKED = """
import sqlite3
def hold(draw):
    connection = sqlite3.connect(folder / database.FILE, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    os.kill(os.getpid(), signal.SIGSTOP)

with closing(opened()) as store:
    store.put(replace(A, key="00"), b"payload", 1)
child = fork(hold, None)
os.waitpid(child, os.WUNTRACED)
database.BUSY_TIMEOUT_S = 0.3
with closing(opened()) as store:
    assert store.get(replace(A, key="00")) == b"payload"
    started = time.monotonic()
    assert not any(store.put(replace(A, key=str(n)), b"payload", 1) for n in range(100))
    assert time.monotonic() - started < 10
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
with closing(opened()) as store:
    assert store.put(replace(A, key="afterwards"), b"payload", 1)
"""


def test_a_stopped_process_holds_the_lock(
    tmp_path: Path, bounded: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """It is waited for three times, not a hundred."""
    done = bounded(FORKS + LOCKED, str(tmp_path / "cache"), "1", "0", seconds=60)
    assert done.returncode == 0, done.stderr
