"""The file of the store: made at once or not at all, opened without waiting for ever, moved aside when it is damaged.

A new file is written under another name and then linked to its own, so that of several processes that begin together
one makes it and all open the same. The journal is a write-ahead log: readers never wait, a writer waits for another at
most `PATIENCE_S`, and a process that is killed leaves what was committed.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

FILE = "vyre-1.sqlite3"
"""The number is the version of the layout: another layout is another file."""
DAMAGED = "vyre-1.damaged.sqlite3"
PATIENCE_S = 2.0

_LAYOUT = """
CREATE TABLE entry (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, policy TEXT NOT NULL, device TEXT NOT NULL,
    identity TEXT NOT NULL, cost_ns INTEGER NOT NULL, digest BLOB NOT NULL, payload BLOB NOT NULL
);
CREATE INDEX entry_subject ON entry (kind, subject);
CREATE TABLE heat (key TEXT PRIMARY KEY, made REAL NOT NULL, used REAL NOT NULL, uses INTEGER NOT NULL);
"""
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is to blame, rather than its place, its rights or another process."""
    code = getattr(error, "sqlite_errorcode", None)
    missing = "no such table" in str(error) or "no such column" in str(error)
    return missing or (code is not None and code & 0xFF in _DAMAGE)


def open_to_write(folder: Path) -> sqlite3.Connection:
    """The file of `folder`, made if it is not there. OSError or `sqlite3.Error` where it can not be."""
    path = folder / FILE
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create(path)
    connection = _read(path, "mode=rw")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def open_to_read(folder: Path) -> sqlite3.Connection:
    """The file of `folder` as it is. In a folder that can not be written the log of another process is not seen."""
    path = folder / FILE
    try:
        return _read(path, "mode=ro")
    except sqlite3.Error as error:
        if is_damage(error) or os.access(folder, os.W_OK):
            raise
        return _read(path, "mode=ro&immutable=1")


def move_aside(folder: Path, inode: int) -> None:
    """Keep one damaged file for whoever wants to look, unless another process has replaced it meanwhile."""
    path = folder / FILE
    with suppress(OSError):
        if path.stat().st_ino != inode:
            return
        for log in (path.with_name(f"{FILE}-wal"), path.with_name(f"{FILE}-shm")):
            log.unlink(missing_ok=True)
        path.replace(folder / DAMAGED)


def remove(folder: Path) -> None:
    """Delete every file of the store."""
    for path in folder.glob("vyre-*.sqlite3*"):
        path.unlink(missing_ok=True)


def _create(path: Path) -> None:
    from tempfile import mkstemp  # only the first process needs it

    handle, name = mkstemp(prefix="vyre-new-", suffix=".sqlite3", dir=path.parent)
    os.close(handle)
    new = Path(name)
    try:
        with closing(_connect(new, "mode=rw")) as connection:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_LAYOUT)
        try:
            os.link(new, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _read(path: Path, how: str) -> sqlite3.Connection:
    connection = _connect(path, how)
    try:
        connection.execute("SELECT 1 FROM entry LIMIT 1").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{how}"
    connection = sqlite3.connect(uri, timeout=PATIENCE_S, isolation_level=None, check_same_thread=False, uri=True)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")  # damage is for the digest to find
    return connection
