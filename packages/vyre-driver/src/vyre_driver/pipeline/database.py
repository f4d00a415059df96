"""The file of the store: made at once or not at all, opened without waiting for ever, moved aside when it is damaged.

A new file is written under another name and then linked to its own, so that of several processes that begin together
one makes it and all open the same. The journal is a write-ahead log: readers never wait, a writer waits for another at
most `BUSY_TIMEOUT_S`, and a process that is killed leaves what was committed.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import closing, suppress
from enum import Enum, auto
from pathlib import Path
from tempfile import mkstemp

from vyre_driver.pipeline.ownership import Insecure, require_secure, require_secure_folder

FILE = "vyre-1.sqlite3"
"""The number is the version of the layout: another layout is another file."""
DAMAGED = "vyre-1.damaged.sqlite3"
BUSY_TIMEOUT_S = 2.0
ATTEMPTS = 5
"""So often a file is made that another process removes before it is opened."""
NEW = "vyre-new-"
"""How the names of files begin that a process is making."""
ABANDONED_S = 60.0
"""A file that was being made so long ago was left by a process that is gone."""

_LAYOUT = (
    """CREATE TABLE entry (
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, policy TEXT NOT NULL, device TEXT NOT NULL,
    identity TEXT NOT NULL, cost_ns INTEGER NOT NULL, digest BLOB NOT NULL, payload BLOB NOT NULL
)""",
    "CREATE INDEX entry_subject ON entry (kind, subject)",
    "CREATE TABLE heat (key TEXT PRIMARY KEY, made REAL NOT NULL, used REAL NOT NULL, uses INTEGER NOT NULL)",
)
"""As sqlite keeps it in the file. It is compared when the file is opened: damage in it changes what is written."""

ERRORS = (sqlite3.Error, sqlite3.Warning, OSError, ValueError, TypeError, ArithmeticError, MemoryError)
"""What the use of a file can raise, whatever is in it. Text in damaged error messages does not decode (ValueError)."""


class Removed(OSError):
    """Other processes remove the file as often as it is made."""


class Trouble(Enum):
    """What an error says about the file."""

    BUSY = auto()
    """Another process holds the lock, or memory is short: later it may work."""
    UNWRITABLE = auto()
    """It can be read at most: a full disk, a file system or rights that allow no more."""
    UNUSABLE = auto()
    """Its place is to blame: there is none, another user may write it, or something else has its name."""
    DAMAGE = auto()
    """Its contents are to blame."""


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR)


def trouble(error: Exception, folder: Path) -> Trouble:
    """What `error`, which the use of the file in `folder` has raised, says about it."""
    match error:
        case Removed() | MemoryError() | UnicodeEncodeError():  # what was to be written has no bytes
            return Trouble.BUSY
        case Insecure() | FileNotFoundError() | FileExistsError():
            return Trouble.UNUSABLE
        case OSError():
            return Trouble.UNWRITABLE
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _BUSY:
        return Trouble.BUSY
    if code == sqlite3.SQLITE_READONLY:  # a flag in the file says so, too
        return (
            Trouble.DAMAGE if os.access(folder, os.W_OK) and os.access(folder / FILE, os.W_OK) else Trouble.UNWRITABLE
        )
    return Trouble.UNWRITABLE if code in _UNWRITABLE else Trouble.DAMAGE


def remedy(error: Exception, folder: Path) -> str:
    """What makes a store usable that `error` has ended the use of."""
    another = "set VYRE_CACHE_DIR to another folder"
    with suppress(OSError):  # that of a folder that this user may not read
        present = next((place for place in (folder, *folder.parents) if place.exists()), folder)
        if present.is_char_device():
            return f"set VYRE_CACHE to off, which stores nothing, or {another}"
    match error:
        case Insecure(fix=fix):
            return fix
        case FileExistsError() | NotADirectoryError():
            return f"remove that file, or {another}"
    match trouble(error, folder):
        case Trouble.BUSY:
            return f"wait for the process that uses it, or {another}"
        case Trouble.DAMAGE:
            return f"delete it with `vyre cache clear`, or {another}"
    return "set VYRE_CACHE_DIR to a folder that this user may read and write"


def open_to_write(folder: Path) -> sqlite3.Connection:
    """The file of `folder`, made if it is not there. One of `ERRORS` where it cannot be opened or made."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    seen: set[int] = set()
    for attempt in range(ATTEMPTS):
        before = inode(folder)
        try:
            if not _require_secure(folder):
                _create(folder / FILE)
                seen.add(inode(folder))
            connection = _read(folder / FILE, "mode=rw")
            break
        except (FileNotFoundError, sqlite3.OperationalError) as error:
            after = inode(folder)
            if after == before != 0:
                raise
            seen |= {before, after}
            if attempt + 1 == ATTEMPTS:
                if len(seen) == 1:
                    raise
                raise Removed(f"other processes remove {folder / FILE} as soon as it is made") from error
    for path in folder.glob(f"{NEW}*"):
        if not _is_recent(path):
            with suppress(OSError):
                path.unlink()
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def open_to_read(folder: Path) -> sqlite3.Connection:
    """The file of `folder` as it is. In a folder that cannot be written the log of another process is not seen."""
    if not _require_secure(folder):
        raise FileNotFoundError(f"there is no {folder / FILE}")
    try:
        return _read(folder / FILE, "mode=ro")
    except sqlite3.Error as error:
        if trouble(error, folder) is Trouble.DAMAGE or os.access(folder, os.W_OK):
            raise
        return _read(folder / FILE, "mode=ro&immutable=1")


def inode(folder: Path) -> int:
    """The number of the file that is there now, 0 for none."""
    try:
        return (folder / FILE).lstat().st_ino
    except OSError:
        return 0


def move_aside(folder: Path, damaged: int) -> None:
    """Keep one damaged file for a person to look at, unless another process has replaced it meanwhile."""
    if inode(folder) == damaged:
        for log in _logs(folder / FILE):
            log.unlink(missing_ok=True)
        (folder / FILE).replace(folder / DAMAGED)


def remove(folder: Path) -> None:
    """Delete every file of the store; the logs first, so that no new file meets an old log. OSError if one stays.

    What another process is making now is left to it: sqlite reports files that vanish under it as errors of the disk.
    """
    for path in (*_logs(folder / FILE), *folder.glob("vyre-*.sqlite3*")):
        if not (path.name.startswith(NEW) and _is_recent(path)):
            path.unlink(missing_ok=True)


def _is_recent(path: Path) -> bool:
    try:
        return abs(time.time() - path.lstat().st_mtime) < ABANDONED_S
    except FileNotFoundError:
        return False


def _logs(path: Path) -> tuple[Path, ...]:
    """The files that sqlite keeps beside its own."""
    return tuple(path.with_name(f"{path.name}-{kind}") for kind in ("wal", "shm", "journal"))


def _require_secure(folder: Path) -> bool:
    """Whether the file is there. `Insecure` if another user may write it, OSError if something else has its name."""
    require_secure_folder(folder)
    path = folder / FILE
    for part in (*_logs(path), path):
        try:
            status = part.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(status.st_mode):
            raise FileExistsError(f"{part} is no regular file")
        require_secure(part, status)
    return inode(folder) != 0


def _create(path: Path) -> None:
    handle, name = mkstemp(prefix=NEW, suffix=".sqlite3", dir=path.parent)
    os.close(handle)
    new = Path(name)
    try:
        with closing(_connect(new, "mode=rw")) as connection:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            for statement in _LAYOUT:
                connection.execute(statement)
        try:
            os.link(new, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                new.replace(path)
    finally:
        for part in (*_logs(new), new):
            part.unlink(missing_ok=True)


def _read(path: Path, how: str) -> sqlite3.Connection:
    connection = _connect(path, how)
    try:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        if {sql for (sql,) in rows} != {*_LAYOUT}:
            raise sqlite3.DatabaseError("its tables are not as they were made")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{how}"
    connection = sqlite3.connect(uri, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, uri=True)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")  # damage is for the digest to find
    return connection
