"""What outlives the process: entries by key in one file that any number of processes share.

An entry is given out only if its digest is right and its identity is the one that is asked for; another is thrown away
with a line in the log. Nothing here raises and nothing waits for long: a damaged file is put aside and made anew, and a
store that cannot be used is as an empty one that keeps nothing, and says so once.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from vyre_driver import pipeline
from vyre_driver.pipeline import database
from vyre_driver.pipeline.database import Trouble
from vyre_driver.pipeline.entry import CacheEntry, EntryIdentity, PayloadKind
from vyre_driver.pipeline.log import logger
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_foundation.locks import ForkGuard, forks_wait_for

if TYPE_CHECKING:
    from vyre_driver.pipeline.eviction import Temperature
    from vyre_driver.pipeline.misses import PipelineCacheMissEvidence

ResultT = TypeVar("ResultT")

_FIELDS = "entry.key, kind, subject, policy, device, identity, cost_ns, digest, payload"
_WITH_HEAT = "FROM entry LEFT JOIN heat ON heat.key = entry.key"
SAME_USE_S = 3600.0
"""Uses so soon after one that is written down need not be: a process that has no other leaves the file as it is."""
MAX_WAITS = 3
"""After this many waits in a row for the lock of another process, a process continues without the store."""
MAX_RENEWALS = 3
"""So often a process puts a damaged file aside; then it goes on without the store."""


_sqlite = threading.RLock()
"""Held during calls of sqlite, whose own locks are those of the process."""
forks_wait_for(_sqlite)


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry as `DiskStore.entries` shows it. `damage` says what is wrong with it, "" for nothing."""

    key: str
    kind: str
    subject: str
    device: str
    size: int
    cost_ns: int
    uses: int
    age_s: float
    damage: str = ""


class DiskStore:
    """The entries in ``settings.folder``. Safe for threads; after a fork each process opens the file for itself."""

    def __init__(self, settings: CacheSettings) -> None:
        self.settings = settings
        self.damaged = 0
        self.evicted = 0
        self.refusal = ""
        """Why the store is not used, "" where it is."""
        self.remedy = ""
        """What makes it usable again, "" where nothing has to: it is used, or there is no file yet."""
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._inode = 0
        self._may_write = settings.mode is CacheMode.READ_WRITE
        self._has_complained = False
        self._waits = 0
        self._renewals = 0
        self._used: dict[str, int] = {}
        self._is_due = False

    @property
    def keeps(self) -> bool:
        """Whether a new entry would be kept."""
        return self._may_write and not self.refusal

    # ── one entry ────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, identity: EntryIdentity) -> bytes | None:
        """The payload of exactly this identity, or None."""

        def read(connection: sqlite3.Connection) -> CacheEntry | None:
            used = "(SELECT used FROM heat WHERE heat.key = entry.key)"
            query = f"SELECT {_FIELDS}, {used} FROM entry WHERE key = ?"
            row = connection.execute(query, (identity.key,)).fetchone()
            if row is None:
                return None
            entry, damage = _entry(row[:-1])
            self._is_due |= not (isinstance(row[-1], float) and abs(time.time() - row[-1]) < SAME_USE_S)
            if damage or entry is None or entry.identity != identity:
                self._throw_away(connection, identity.key, damage or "it belongs to something else")
                return None
            return entry

        entry = self._try(read, None)
        if entry is None:
            return None
        self._used[identity.key] = self._used.get(identity.key, 0) + 1
        return entry.payload

    def put(self, identity: EntryIdentity, payload: bytes, cost_ns: int) -> bool:
        """Keep `payload`, which took `cost_ns` to make; colder entries go where there is no room. Whether it stays."""
        entry = CacheEntry(identity, payload, cost_ns)
        if not self.keeps or len(payload) > self.settings.size:
            return False

        def write(connection: sqlite3.Connection) -> bool:
            i, now = identity, time.time()
            row = (i.key, i.kind.value, i.subject, i.policy, i.device, i.text, cost_ns, entry.digest(), payload)
            connection.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            connection.execute("INSERT OR REPLACE INTO heat VALUES (?, ?, ?, 1)", (i.key, now, now))
            self._evict(connection, self.settings.size)
            return True

        return self._try(write, False, writes=True)

    def discard(self, identity: EntryIdentity, reason: str) -> None:
        """Forget an entry that turned out to be of no use."""
        self._try(lambda connection: self._throw_away(connection, identity.key, reason), None)

    def remove(self, identity: EntryIdentity) -> None:
        """Drop an entry that has served its purpose."""
        self._try(lambda connection: _delete(connection, [identity.key]), None, writes=True)

    def evidence(self, identity: EntryIdentity) -> PipelineCacheMissEvidence:
        """What there is beside an identity that was missed."""

        def count(connection: sqlite3.Connection) -> PipelineCacheMissEvidence:
            parts = (identity.subject, identity.subject, identity.policy)
            query = """SELECT COUNT(*), TOTAL(subject = ?), TOTAL(subject = ? AND policy = ?),
                TOTAL(subject = ? AND policy = ? AND device = ?) FROM entry WHERE kind = ?"""
            rest = (identity.subject, identity.policy, identity.device, identity.kind.value)
            return pipeline.misses.PipelineCacheMissEvidence(
                *map(int, connection.execute(query, (*parts, *rest)).fetchone())
            )

        return self._try(count, pipeline.misses.PipelineCacheMissEvidence(0, 0, 0, 0))

    # ── all entries ──────────────────────────────────────────────────────────────────────────────────────────────────

    def entries(self) -> list[Listed]:
        """Every entry, the hottest first, each checked."""

        def read(connection: sqlite3.Connection) -> list[Listed]:
            found = []
            for *fields, uses, used in connection.execute(f"SELECT {_FIELDS}, uses, used {_WITH_HEAT}"):
                key, kind, subject, _, device, _, cost_ns, _, payload = fields
                size = len(payload) if isinstance(payload, (bytes, str)) else 0
                heat = _temperature(key, size, cost_ns, uses, used)
                texts, damage = (str(key), str(kind), str(subject), str(device)), _entry(fields)[1]
                listed = Listed(*texts, heat.size, heat.cost_ns, heat.uses, heat.age_s, damage)
                found.append((-heat.heat, listed.key, listed))
            return [listed for _, _, listed in sorted(found, key=lambda one: one[:2])]

        self.flush()
        return self._try(read, [])

    def verify(self) -> list[str]:
        """What is wrong with the file and its entries, one line each. Nothing is changed."""

        def check(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute(f"SELECT {_FIELDS} FROM entry")
            damaged = [f"entry {row[0]}: {damage}" for row in rows if (damage := _entry(row)[1])]
            return [*_faults(connection), *damaged]

        nothing: list[str] = []
        findings = self._try(check, nothing)
        return [self.refusal] if self.remedy else findings

    def prune(self, size: int | None = None) -> int:
        """Drop damaged entries, then the coldest until `size` bytes are held (None: the bound). How many went.

        A file whose pages are damaged is put aside with all of them.
        """

        def drop(connection: sqlite3.Connection) -> int:
            if faults := _faults(connection):
                raise sqlite3.DatabaseError(faults[0])
            rows = connection.execute(f"SELECT {_FIELDS} FROM entry")
            damaged = [row[0] for row in rows if _entry(row)[1]]
            _delete(connection, damaged)
            return len(damaged) + self._evict(connection, self.settings.size if size is None else size)

        self.flush()
        return self._try(drop, 0, writes=True)

    def forget(self, kind: PayloadKind) -> int:
        """Drop every entry of a kind. How many went."""

        def drop(connection: sqlite3.Connection) -> int:
            keys = [key for (key,) in connection.execute("SELECT key FROM entry WHERE kind = ?", (kind.value,))]
            _delete(connection, keys)
            return len(keys)

        return self._try(drop, 0, writes=True)

    def clear(self) -> None:
        """Delete the file and what is left of damaged ones; OSError where that is not possible.

        Processes that have the file open go on with a new one.
        """
        with _sqlite:
            self.close()
            self.refusal = self.remedy = ""
            database.remove(self.settings.folder)

    # ── lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────

    def flush(self) -> None:
        """Write down which entries were used since the last time."""
        with _sqlite:
            used, self._used, self._is_due = self._used, {}, False

        def write(connection: sqlite3.Connection) -> None:
            rows = [(uses, time.time(), key) for key, uses in used.items()]
            connection.executemany("UPDATE heat SET uses = uses + ?, used = ? WHERE key = ?", rows)

        if used and self.keeps:
            self._try(write, None, writes=True)

    def close(self) -> None:
        """Close the file; the next use opens it again.

        Uses are written down if there are any that are not the same as those before: writing takes milliseconds,
        because the disk is waited for, and a short process has few more.
        """
        with _sqlite:
            if self._connection is not None and self._process == os.getpid():
                if self._is_due:
                    self.flush()
                self._drop_connection()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _try(
        self, use: Callable[[sqlite3.Connection], ResultT], otherwise: ResultT, *, writes: bool = False
    ) -> ResultT:
        """`use` the file, in one transaction if it `writes`; `otherwise` where that is not possible."""
        with _sqlite:
            for _ in range(2 + MAX_RENEWALS):
                if self.refusal or (writes and not self._may_write):
                    break
                try:
                    connection = self._open()
                    with _transaction(connection) if writes else _as_it_is(connection):
                        result = use(connection)
                    self._waits = 0
                    return result
                except database.ERRORS as error:
                    if not self._cope(error):
                        break
            return otherwise

    def _open(self) -> sqlite3.Connection:
        """The connection of this process to the file that is there now.

        Another process may have replaced the file that was there, and a connection that a fork has copied belongs to
        the parent.
        """
        folder, process = self.settings.folder, os.getpid()
        if self._connection is not None and self._process != process:
            _inherited.append(self._connection)
            self._connection = None
        if self._connection is not None and database.inode(folder) != self._inode:
            self._drop_connection()
        if self._connection is None:
            self._process, self._inode = process, database.inode(folder)
            self._connection = self._opened()
            self._inode = database.inode(folder)
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        folder = self.settings.folder
        if self._may_write:
            try:
                return database.open_to_write(folder)
            except database.ERRORS as error:
                if database.trouble(error, folder) is not Trouble.UNWRITABLE:
                    raise
                self._stop_storing(error)
        return database.open_to_read(folder)

    def _cope(self, error: Exception) -> bool:
        """Make the best of an error. Whether another attempt may do better."""
        folder = self.settings.folder
        if database.inode(folder) != self._inode:  # another process has replaced the file, or made one
            self._drop_connection()
            return True
        match database.trouble(error, folder):
            case Trouble.BUSY if self._waits + 1 < MAX_WAITS:
                self._waits += 1
                logger().debug("passed over: %s", error)
                return False
            case Trouble.UNWRITABLE if self._may_write:
                self._stop_storing(error)
                return False
            case Trouble.DAMAGE if self._may_write and self._renewals < MAX_RENEWALS:
                return self._renew(error)
            case Trouble.UNUSABLE if isinstance(error, FileNotFoundError) and not self._may_write:
                self.refusal = str(error)  # there is nothing to read: no reason for a warning
            case _:
                self._refuse(error)
        return False

    def _renew(self, error: Exception) -> bool:
        """Put the damaged file aside. Whether that worked."""
        self.damaged += 1
        self._renewals += 1
        logger().warning("the store in %s is damaged and begins anew: %s", self.settings.folder, error)
        self._drop_connection()
        try:
            database.move_aside(self.settings.folder, self._inode)
        except OSError as reason:
            self._refuse(reason)
        return not self.refusal

    def _stop_storing(self, error: Exception) -> None:
        self._may_write = False
        fix = database.remedy(error, self.settings.folder)
        if not isinstance(error, (PermissionError, FileExistsError, NotADirectoryError)):
            fix = f"free space there, or {fix}"
        self._complain(f"caching stops in {self.settings.folder}: {error}. Fix: {fix}")

    def _refuse(self, error: Exception) -> None:
        self.refusal = str(error) or type(error).__name__
        self._drop_connection()
        self.remedy = database.remedy(error, self.settings.folder)
        self._complain(f"the store in {self.settings.folder} is not used: {self.refusal}. Fix: {self.remedy}")

    def _complain(self, text: str) -> None:
        """One line for each store of a process, whatever else goes wrong."""
        if not self._has_complained:
            logger().warning("%s", text)
        self._has_complained = True

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _throw_away(self, connection: sqlite3.Connection, key: str, reason: str) -> None:
        self.damaged += 1
        logger().warning("entry %s is thrown away: %s", key, reason)
        if self._may_write:
            with _transaction(connection):
                _delete(connection, [key])

    def _evict(self, connection: sqlite3.Connection, limit: int) -> int:
        dropped = pipeline.eviction.coldest(_temperatures(connection), limit)
        _delete(connection, dropped)
        self.evicted += len(dropped)
        return len(dropped)


def _entry(row: Sequence[object]) -> tuple[CacheEntry | None, str]:
    """A row as an entry, and what is wrong with it."""
    key, kind, subject, policy, device, text, cost_ns, digest, payload = row
    texts = (key, kind, subject, policy, device, text)
    if not all(isinstance(t, str) for t in texts) or not isinstance(cost_ns, int) or not isinstance(payload, bytes):
        return None, "a field has another type"
    if kind not in {k.value for k in PayloadKind}:
        return None, "its kind is unknown"
    identity = EntryIdentity(
        kind=PayloadKind(kind),
        key=str(key),
        subject=str(subject),
        policy=str(policy),
        device=str(device),
        text=str(text),
    )
    entry = CacheEntry(identity, payload, cost_ns)
    return entry, "" if entry.digest() == digest else "its digest is wrong"


def _faults(connection: sqlite3.Connection) -> list[str]:
    """What sqlite itself finds wrong with the file."""
    found = (str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)"))
    return [fault for fault in found if fault != "ok"]


def _temperatures(connection: sqlite3.Connection) -> Iterator[Temperature]:
    """All entries, in one statement: what others write meanwhile is not seen."""
    query = f"SELECT entry.key, LENGTH(payload), cost_ns, uses, used {_WITH_HEAT}"
    return (_temperature(*row) for row in connection.execute(query).fetchall())


def _temperature(key: object, size: object, cost_ns: object, uses: object, used: object) -> Temperature:
    """Numbers that are none (a damaged heat) count as cold."""
    now = time.time()
    age = now - used if isinstance(uses, int) and isinstance(used, float) else now
    return pipeline.eviction.Temperature(str(key), _count(size), _count(cost_ns), _count(uses), age)


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**62 else 0


def _delete(connection: sqlite3.Connection, keys: Sequence[object]) -> None:
    connection.executemany("DELETE FROM entry WHERE key IS ?", [(key,) for key in keys])
    connection.executemany("DELETE FROM heat WHERE key IS ?", [(key,) for key in keys])
    if keys:
        connection.execute("PRAGMA incremental_vacuum").fetchall()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _as_it_is(connection: sqlite3.Connection) -> Iterator[None]:
    yield


_inherited: list[sqlite3.Connection] = []
"""Connections that came with a fork: to close one would disturb the parent."""
_stores: dict[CacheSettings, DiskStore] = {}
_guard = ForkGuard()


def shared_store() -> DiskStore | None:
    """The one store of this process for the settings of the environment.

    None where the store is off, or where there is no folder for it.
    """
    if CacheMode.of() is CacheMode.OFF:
        return None
    try:
        settings = CacheSettings.of()
    except FileNotFoundError as error:
        _say_once(f"nothing is cached between processes: {error}")
        return None
    with _guard.lock:
        store = _stores.get(settings)
        if store is None:
            store = _stores[settings] = DiskStore(settings)
            atexit.register(store.close)
        return store


@cache
def _say_once(text: str) -> None:
    logger().warning(text)
