"""Commands for the cache that processes share: compiled code, and proven device operations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

import click

from vyre.cli.exit import ExitCode
from vyre.cli.outcome import JSON, Answer, readable_size, readable_time
from vyre_driver.observe.writing import require_writable
from vyre_driver.pipeline.database import FILE
from vyre_driver.pipeline.settings import FOLDER, CacheMode, CacheSettings, read_size
from vyre_driver.pipeline.store import DiskStore
from vyre_foundation.errors import VyreError

SHOWN = 20


@click.group()
def cache() -> None:
    """Inspect, verify, prune or clear the cache that processes share.

    \b
    VYRE_CACHE       off, ro (read-only) or rw (the default)
    VYRE_CACHE_DIR   the cache folder; by default the user's
    VYRE_CACHE_SIZE  the maximum size, such as 64M
    """  # noqa: D301


@cache.command()
@click.option("--all", "everything", is_flag=True, help=f"List every entry instead of the first {SHOWN}.")
@JSON
def info(everything: bool, as_json: bool) -> None:
    """Show the folder, the settings, and the entries, the coldest last."""
    answer = Answer(as_json)
    with answer.failures(), _opened(CacheMode.READ) as store:
        entries, settings = store.entries(), CacheSettings.of()
        total = sum(entry.size for entry in entries)
        problem = _problem(store, settings.mode)
        if as_json:
            facts = {"folder": str(settings.folder), "mode": settings.mode.value, "bound": settings.size}
            entries_json = [asdict(entry) for entry in entries]
            refusal = problem.message if problem else store.refusal
            answer.json({**facts, "bytes": total, "refusal": refusal, "entries": entries_json})
            return
        held = f"{len(entries)} entries, {readable_size(total)} of {readable_size(settings.size)}"
        if problem is not None:
            held = f"unavailable: {problem}"
        answer.console.print(f"{settings.folder} ({settings.mode.value}): {held}", markup=False, soft_wrap=True)
        rows = [
            (
                entry.kind,
                entry.subject[:16] if entry.kind == "code" else entry.subject,
                readable_size(entry.size),
                readable_time(entry.cost_ns / 1e9),
                str(entry.uses),
                _age(entry.age_s),
                entry.damage,
            )
            for entry in (entries if everything else entries[:SHOWN])
        ]
        if rows:
            answer.table("", ("kind", "of", "size", "took", "uses", "last use", "damage"), rows)
        if len(rows) < len(entries):
            answer.console.print(f"and {len(entries) - len(rows)} more (--all)")


@cache.command()
@JSON
def verify(as_json: bool) -> None:
    """Verify every entry without changing anything; exit code 1 if one is damaged, or the cache is not used."""
    answer = Answer(as_json)
    with answer.failures(), _opened(CacheMode.READ) as store:
        findings = store.verify()
        if as_json:
            answer.json({"sound": not findings, "findings": findings})
        else:
            for finding in findings:
                answer.console.print(finding, markup=False, soft_wrap=True)
            fix = store.remedy or "`vyre cache prune` drops what is damaged, `vyre cache clear` everything"
            answer.console.print(f"Fix: {fix}" if findings else "everything is sound", markup=False, soft_wrap=True)
    raise SystemExit(int(ExitCode.FAILED if findings else ExitCode.OK))


@cache.command()
@click.option("--size", metavar="BYTES", help="Maximum size, such as 16M; by default VYRE_CACHE_SIZE.")
@JSON
def prune(size: str | None, as_json: bool) -> None:
    """Remove damaged entries, then the coldest until the size is met: rarely used, old, large, or cheap to make."""
    answer = Answer(as_json)
    with answer.failures(), _opened(CacheMode.READ_WRITE) as store:
        try:
            limit = None if size is None else read_size(size)
        except ValueError:
            raise click.BadParameter(f"--size {size!r} is no size. Fix: write bytes, such as 16M") from None
        dropped = store.prune(limit)
        _require_usable(answer, store)
        _report(answer, dropped)


@cache.command()
@JSON
def clear(as_json: bool) -> None:
    """Remove every entry."""
    answer = Answer(as_json)
    with answer.failures(), _opened(CacheMode.READ_WRITE) as store:
        _require_usable(answer, store)  # before it is opened: what is damaged can be removed
        count = len(store.entries())
        store.clear()
        _report(answer, count)


@contextmanager
def _opened(mode: CacheMode) -> Iterator[DiskStore]:
    """The store of the settings, also where VYRE_CACHE turns it off for others."""
    store = DiskStore(replace(CacheSettings.of(), mode=mode))
    try:
        yield store
    finally:
        store.close()


def _problem(store: DiskStore, mode: CacheMode) -> VyreError | None:
    """Why the cache cannot be used in `mode`."""
    if mode is CacheMode.READ_WRITE:
        try:
            require_writable(store.settings.folder / FILE, FOLDER)
        except VyreError as error:
            return VyreError(error.message, fix=f"set {FOLDER} to another folder")
    return VyreError(store.refusal, fix=store.remedy) if store.remedy else None


def _require_usable(answer: Answer, store: DiskStore) -> None:
    """End the command with exit code 1 if there is no cache that it could change."""
    problem = _problem(store, store.settings.mode)
    if problem is None:
        return
    place = f"{store.settings.folder} ({CacheSettings.of().mode.value})"
    answer.tell(VyreError(f"unavailable: {problem.message}", fix=problem.fix, where=place), "CacheUnavailable")
    raise SystemExit(int(ExitCode.FAILED))


def _report(answer: Answer, dropped: int) -> None:
    if answer.as_json:
        answer.json({"dropped": dropped})
    else:
        answer.console.print(f"{dropped} entries dropped")


def _age(seconds: float) -> str:
    if not 0 <= seconds < time.time() - 1:  # never used, or used before the clock was set back
        return "–"
    return readable_time(seconds) if seconds < 60 else f"{seconds / 3600:.1f} h"
