"""What outlives the process: entries by key in one file that any number of processes share.

An entry is given out only if its digest is right and its identity is the one that is asked for; another is thrown away
with a line in the log. Nothing here raises and nothing waits for long: a store that can not be used is as an empty one
that keeps nothing, and says so once.
"""

from __future__ import annotations

import atexit
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vyre_driver.pipeline import database
from vyre_driver.pipeline.entry import Entry, EntryIdentity, Kind
from vyre_driver.pipeline.log import logger
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_foundation.record import record

if TYPE_CHECKING:
    from vyre_driver.pipeline.eviction import Temperature
    from vyre_driver.pipeline.misses import PipelineCacheMissEvidence

ResultT = TypeVar("ResultT")

_FIELDS = "key, kind, subject, policy, device, identity, cost_ns, digest, payload"
SAME_USE_S = 3600.0
"""Uses so soon after one that is written down need not be: a process that has no other leaves the file as it is."""


@record(frozen=True, slots=True)
class Listed:
    """An entry as `Store.entries` shows it. `damage` says what is wrong with it, "" for nothing."""

    key: str
    kind: str
    subject: str
    device: str
    size: int
    cost_ns: int
    uses: int
    age_s: float
    damage: str = ""


class Store:
    """The entries in ``settings.folder``. Safe for threads; after a fork each process opens the file for itself."""

    def __init__(self, settings: CacheSettings) -> None:
        self.settings = settings
        self.damaged = 0
        self.evicted = 0
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._inode = 0
        self._may_write = settings.mode is CacheMode.READ_WRITE
        self._refusal = ""
        self._used: dict[str, int] = {}
        self._is_due = False

    @property
    def keeps(self) -> bool:
        """Whether a new entry would be kept."""
        return self._may_write and not self._refusal

    # ── one entry ────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, identity: EntryIdentity) -> bytes | None:
        """The payload of exactly this identity, or None."""

        def read(connection: sqlite3.Connection) -> Entry | None:
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
        entry = Entry(identity, payload, cost_ns)
        if not self.keeps or len(payload) > self.settings.size:
            return False

        def write(connection: sqlite3.Connection) -> bool:
            i, now = identity, time.time()
            row = (i.key, i.kind.value, i.subject, i.policy, i.device, i.text, cost_ns, entry.digest(), payload)
            connection.execute(f"INSERT OR REPLACE INTO entry ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
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
        from vyre_driver.pipeline.misses import PipelineCacheMissEvidence  # not needed by those who find their code

        def count(connection: sqlite3.Connection) -> PipelineCacheMissEvidence:
            parts = (identity.subject, identity.subject, identity.policy)
            query = """SELECT COUNT(*), TOTAL(subject = ?), TOTAL(subject = ? AND policy = ?),
                TOTAL(subject = ? AND policy = ? AND device = ?) FROM entry WHERE kind = ?"""
            rest = (identity.subject, identity.policy, identity.device, identity.kind.value)
            return PipelineCacheMissEvidence(*map(int, connection.execute(query, (*parts, *rest)).fetchone()))

        return self._try(count, PipelineCacheMissEvidence(0, 0, 0, 0))

    # ── all entries ──────────────────────────────────────────────────────────────────────────────────────────────────

    def entries(self) -> list[Listed]:
        """Every entry, the hottest first, each checked."""

        def read(connection: sqlite3.Connection) -> list[Listed]:
            damage = {row[0]: _entry(row)[1] for row in connection.execute(f"SELECT {_FIELDS} FROM entry")}
            rows = connection.execute("SELECT key, kind, subject, device FROM entry").fetchall()
            heat = {t.key: t for t in _temperatures(connection)}
            listed = [
                Listed(str(key), str(kind), str(subject), str(device), t.size, t.cost_ns, t.uses, t.age_s, damage[key])
                for key, kind, subject, device in rows
                if (t := heat.get(str(key)))
            ]
            return sorted(listed, key=lambda one: (-heat[one.key].heat, one.key))

        self.flush()
        return self._try(read, [])

    def verify(self) -> list[str]:
        """What is wrong with the file and its entries, one line each. Nothing is changed."""

        def check(connection: sqlite3.Connection) -> list[str]:
            findings = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
            rows = connection.execute(f"SELECT {_FIELDS} FROM entry")
            damaged = [f"entry {row[0]}: {damage}" for row in rows if (damage := _entry(row)[1])]
            return [*(f for f in findings if f != "ok"), *damaged]

        return self._try(check, [self._refusal] if self._refusal else [])

    def prune(self, size: int | None = None) -> int:
        """Drop damaged entries, then the coldest until `size` bytes are held (None: the bound). How many went."""

        def drop(connection: sqlite3.Connection) -> int:
            rows = connection.execute(f"SELECT {_FIELDS} FROM entry")
            damaged = [row[0] for row in rows if _entry(row)[1]]
            _delete(connection, damaged)
            return len(damaged) + self._evict(connection, self.settings.size if size is None else size)

        self.flush()
        return self._try(drop, 0, writes=True)

    def forget(self, kind: Kind) -> int:
        """Drop every entry of a kind. How many went."""

        def drop(connection: sqlite3.Connection) -> int:
            keys = [key for (key,) in connection.execute("SELECT key FROM entry WHERE kind = ?", (kind.value,))]
            _delete(connection, keys)
            return len(keys)

        return self._try(drop, 0, writes=True)

    def clear(self) -> None:
        """Delete the file and what is left of damaged ones."""
        with self._lock:
            self.close()
            self._refusal = ""
            database.remove(self.settings.folder)

    # ── lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────

    def flush(self) -> None:
        """Write down which entries were used since the last time."""
        with self._lock:
            used, self._used, self._is_due = self._used, {}, False

        def write(connection: sqlite3.Connection) -> None:
            rows = [(uses, time.time(), key) for key, uses in used.items()]
            connection.executemany("UPDATE heat SET uses = uses + ?, used = ? WHERE key = ?", rows)

        if used and self.keeps:
            self._try(write, None, writes=True)

    def close(self) -> None:
        """Close the file; the next use opens it again. Uses are written down if there are any that are not the same as
        those before: writing takes milliseconds, because the disk is waited for, and a short process has few more."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                if self._is_due:
                    self.flush()
                self._drop_connection()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _try(
        self, use: Callable[[sqlite3.Connection], ResultT], otherwise: ResultT, *, writes: bool = False
    ) -> ResultT:
        """`use` the file, in one transaction if it `writes`; `otherwise` where that can not be."""
        with self._lock:
            if self._refusal or (writes and not self._may_write):
                return otherwise
            try:
                connection = self._open()
                with _transaction(connection) if writes else _as_it_is(connection):
                    return use(connection)
            except sqlite3.Error as error:
                self._cope(error)
            except OSError as error:
                self._refuse(str(error))
            return otherwise

    def _open(self) -> sqlite3.Connection:
        """The connection of this process: one that a fork has copied belongs to the parent."""
        if self._connection is None or self._process != os.getpid():
            if self._connection is not None:
                _inherited.append(self._connection)
            self._connection, self._process = None, os.getpid()
            folder = self.settings.folder
            self._inode = _inode(folder)
            if self._may_write:
                try:
                    self._connection = database.open_to_write(folder)
                except (OSError, sqlite3.OperationalError) as error:
                    if isinstance(error, sqlite3.Error) and database.is_damage(error):
                        raise
                    self._may_write = False
                    logger().warning("nothing is kept in %s: %s", folder, error)
            if self._connection is None:
                self._connection = database.open_to_read(folder)
            self._inode = _inode(folder)
        return self._connection

    def _cope(self, error: sqlite3.Error) -> None:
        """A busy file is passed over, a damaged one is put aside, and with any other trouble the store ends."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            logger().debug("passed over: %s", error)
        elif database.is_damage(error) and self._may_write:
            self.damaged += 1
            logger().warning("the store in %s is damaged and begins anew: %s", self.settings.folder, error)
            self._drop_connection()
            database.move_aside(self.settings.folder, self._inode)
        elif getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY):
            self._may_write = False
            logger().warning("nothing more is kept in %s: %s", self.settings.folder, error)
        elif (self.settings.folder / database.FILE).exists():
            self._refuse(str(error))
        else:
            self._refusal = str(error)  # there is nothing to read: no reason for a warning

    def _refuse(self, reason: str) -> None:
        self._refusal = reason
        logger().warning("the store in %s is not used: %s", self.settings.folder, reason)
        self._drop_connection()

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _throw_away(self, connection: sqlite3.Connection, key: str, reason: str) -> None:
        self.damaged += 1
        logger().warning("entry %s is thrown away: %s", key, reason)
        if self._may_write:
            with _transaction(connection):
                _delete(connection, [key])

    def _evict(self, connection: sqlite3.Connection, limit: int) -> int:
        from vyre_driver.pipeline.eviction import coldest  # not needed by those who only read

        dropped = coldest(_temperatures(connection), limit)
        _delete(connection, dropped)
        self.evicted += len(dropped)
        return len(dropped)


def _entry(row: Sequence[object]) -> tuple[Entry | None, str]:
    """A row as an entry, and what is wrong with it."""
    key, kind, subject, policy, device, text, cost_ns, digest, payload = row
    texts = (key, kind, subject, policy, device, text)
    if not all(isinstance(t, str) for t in texts) or not isinstance(cost_ns, int) or not isinstance(payload, bytes):
        return None, "a field has another type"
    if kind not in {k.value for k in Kind}:
        return None, "its kind is unknown"
    identity = EntryIdentity(
        kind=Kind(kind), key=str(key), subject=str(subject), policy=str(policy), device=str(device), text=str(text)
    )
    entry = Entry(identity, payload, cost_ns)
    return entry, "" if entry.digest() == digest else "its digest is wrong"


def _temperatures(connection: sqlite3.Connection) -> Iterator[Temperature]:
    """All entries; numbers that are none (a damaged heat) count as cold."""
    from vyre_driver.pipeline.eviction import Temperature

    now = time.time()
    query = "SELECT e.key, LENGTH(e.payload), e.cost_ns, uses, used FROM entry e LEFT JOIN heat h ON h.key = e.key"
    for key, size, cost_ns, uses, used in connection.execute(query).fetchall():
        known = isinstance(uses, int) and isinstance(used, float)
        yield Temperature(str(key), _count(size), _count(cost_ns), _count(uses), now - used if known else now)


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**62 else 0


def _delete(connection: sqlite3.Connection, keys: Sequence[object]) -> None:
    connection.executemany("DELETE FROM entry WHERE key IS ?", [(key,) for key in keys])
    connection.executemany("DELETE FROM heat WHERE key IS ?", [(key,) for key in keys])
    if keys:
        connection.execute("PRAGMA incremental_vacuum").fetchall()


def _inode(folder: Path) -> int:
    try:
        return (folder / database.FILE).stat().st_ino
    except OSError:
        return 0


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
_stores: dict[CacheSettings, Store] = {}
_lock = threading.Lock()


def shared_store(settings: CacheSettings | None = None) -> Store | None:
    """The one store of this process for these settings (None: those of the environment); None where it is off."""
    settings = CacheSettings.of() if settings is None else settings
    if settings.mode is CacheMode.OFF:
        return None
    with _lock:
        store = _stores.get(settings)
        if store is None:
            store = _stores[settings] = Store(settings)
            atexit.register(store.close)
        return store
