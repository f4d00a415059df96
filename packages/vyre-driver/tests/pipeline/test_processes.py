"""One store and many processes: at once, killed in the middle of a write, forked."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore

SETUP = """
import random, sys
from dataclasses import replace
from pathlib import Path
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore

A = EntryIdentity(kind=PayloadKind.CODE, key="", subject="a", text="a")
def payload(key): return random.Random(key).randbytes(20_000)
store = DiskStore(CacheSettings(CacheMode.READ_WRITE, Path(sys.argv[1])))
"""
SHARE = """
import time
for n in range(20):
    key = f"{n:02}"
    found = store.get(replace(A, key=key))
    assert found in (None, payload(key)), "another process's payload is wrong"
    if found is None:
        assert store.put(replace(A, key=key), payload(key), 10**9)
assert all(store.get(replace(A, key=f"{n:02}")) == payload(f"{n:02}") for n in range(20))
store.close()
assert store.damaged == 0
"""
WRITE_FOR_EVER = """
import itertools
for n in itertools.count():
    store.put(replace(A, key=str(n)), payload(str(n)), 10**9)
    print(n, flush=True)
"""


def begin(script: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", SETUP + script, str(folder)], stdout=subprocess.PIPE, text=True)


def test_ten_processes_share_one_store(tmp_path: Path) -> None:
    """They begin together, without a file; what one writes the others read."""
    processes = [begin(SHARE, tmp_path) for _ in range(10)]
    assert [process.wait(120) for process in processes] == [0] * 10
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
    with closing(DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path))) as store:
        assert store.verify() == []
        assert len(store.entries()) == 20
    assert not [*tmp_path.glob("vyre-new-*")]


def test_a_process_killed_while_it_writes_leaves_a_good_store(tmp_path: Path) -> None:
    writer = begin(WRITE_FOR_EVER, tmp_path)
    assert writer.stdout is not None
    with writer.stdout:
        for _ in range(5):
            last = int(writer.stdout.readline())
        time.sleep(0.01)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait(60)
    with closing(DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path))) as store:
        assert store.verify() == []
        held = {entry.key for entry in store.entries()}
        assert {str(n) for n in range(last + 1)} <= held
        assert store.put(replace(A, key="afterwards"), b"payload", 1)


CHURN = """
import itertools
for n in itertools.count():
    one = replace(A, key=str(n % 7))
    store.get(one)
    store.put(one, payload(one.key), 10**9)
    store.remove(replace(A, key=str((n + 3) % 7)))
    print(n, flush=True)
"""


def test_listing_while_others_write(tmp_path: Path) -> None:
    """Each list is of one moment: an entry is there with its size, or not."""
    writers = [begin(CHURN, tmp_path) for _ in range(2)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        with closing(DiskStore(CacheSettings(CacheMode.READ, tmp_path))) as store:
            for _ in range(100):
                assert all((entry.size, entry.damage) == (20_000, "") for entry in store.entries())
                assert store.verify() == []
            assert not store.refusal
    finally:
        for writer in writers:
            writer.kill()
            writer.wait(60)
            assert writer.stdout is not None
            writer.stdout.close()


A = EntryIdentity(kind=PayloadKind.CODE, key="", subject="a", text="a")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_opens_the_file_for_itself(tmp_path: Path) -> None:
    with closing(DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path))) as store:
        store.put(replace(A, key="parent"), b"payload", 1)
        child = os.fork()
        if child == 0:
            right = store.get(replace(A, key="parent")) == b"payload"
            right = right and store.put(replace(A, key="child"), b"payload", 1)
            store.close()
            os._exit(0 if right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert store.get(replace(A, key="child")) == b"payload"
        assert store.put(replace(A, key="later"), b"payload", 1)
        assert store.verify() == []
