"""Finding the installed dialects: entry points and manifests in, dialects and problems out. A bad one harms no other.

Of several versions of one dialect the highest is used, by the numbers in it, so that 0.10 comes after 0.9. A manifest
cannot replace a dialect of a distribution, and only vyre can define its own dialects: otherwise one fingerprint
would have two meanings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import MappingProxyType

from vyre_foundation.dialects import LANGUAGE, Composition, Dialect, DialectProblem
from vyre_foundation.discovery.manifest import read_manifest
from vyre_foundation.discovery.migration import check_migrations
from vyre_foundation.errors import VyreError, without_remedy
from vyre_foundation.plugins import EXHAUSTED, disabled_names, distribution_name, distribution_version, plugins

GROUP = "vyre.dialects"
PATH = "VYRE_DIALECT_PATH"
"""Environment variable: folders with manifests (``*.toml``), separated as in PATH."""

OWN = MappingProxyType({"math": "vyre-math"})
"""The dialects of vyre itself, and the distribution that alone may announce each."""

Found = tuple[str, Dialect | DialectProblem]
"""Where a dialect came from, and the dialect, or why there is none."""


def discover(taken: frozenset[str] = frozenset()) -> tuple[dict[str, Dialect], tuple[DialectProblem, ...]]:
    """Every usable dialect by id, and what is left out. `taken` are op ids that other dialects have."""
    disabled = disabled_names()
    if disabled is None:
        return {}, ()
    problems: list[DialectProblem] = []
    candidates: list[tuple[str, Dialect]] = []
    announced = [(source, found, OWN.get(found.id, source)) for source, found in _entry_points()]
    owners = {**{found.id: owner for _, found, owner in announced}, **OWN}
    manifests = [(source, found, owners.get(found.id, source)) for source, found in _manifests(disabled)]
    for source, found, owner in (*announced, *manifests):
        if isinstance(found, DialectProblem):
            problems.append(found)
        elif source != owner:
            reason = f"the id {found.id!r} belongs to the distribution {owner}"
            problems.append(DialectProblem(found.id, source, reason, "give the dialect an id of its own"))
        elif (problem := _judge(source, found, taken)) is not None:
            problems.append(problem)
        else:
            candidates.append((source, found))
    dialects, shadowed = _highest(candidates)
    return dialects, tuple(sorted((*problems, *shadowed), key=lambda p: (p.id, p.source)))


def version_order(version: str) -> tuple[int, ...]:
    """Versions by their numbers, where 1.0 is 1.0.0; a part that is no number, such as dev1, comes before all."""
    numbers = [int(part) if part.isdigit() else -1 for part in re.split(r"[.+-]", version)]
    return tuple([*numbers, *[0] * 8][:8])


def _entry_points() -> Iterator[Found]:
    for entry in plugins(GROUP):
        yield distribution_name(entry), _load(entry)


def _load(entry: EntryPoint) -> Dialect | DialectProblem:
    source = distribution_name(entry)
    upgrade = f"repair or uninstall it: pip install --upgrade {source}"
    try:
        given = entry.load()()
    except EXHAUSTED:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{entry.value!r} raised {type(error).__name__}: {without_remedy(error)}"
        return DialectProblem(entry.name, source, reason, upgrade)
    if isinstance(given, Dialect):
        if given.id == entry.name:
            return given
        reason = f"the entry point {entry.name!r} announces the dialect {given.id!r}"
        return DialectProblem(entry.name, source, reason, "name the entry point as the dialect")
    rows = tuple(given) if isinstance(given, (list, tuple)) else ()
    if not rows or not all(isinstance(row, Composition) for row in rows):
        return DialectProblem(entry.name, source, f"{entry.value!r} gives no dialect and no compositions", upgrade)
    return Dialect(id=entry.name, version=distribution_version(entry), ops=rows)


def _manifests(disabled: frozenset[str]) -> Iterator[Found]:
    for folder in filter(None, os.environ.get(PATH, "").split(os.pathsep)):
        if not Path(folder).is_dir():
            yield folder, DialectProblem("?", folder, f"{PATH} names it, and it is no folder", "create or remove it")
            continue
        for file in sorted(Path(folder).glob("*.toml")):
            try:
                found: Dialect | DialectProblem = read_manifest(file)
            except (OSError, VyreError) as error:
                fix = error.fix if isinstance(error, VyreError) else "make the file readable"
                message = error.message if isinstance(error, VyreError) else str(error)
                id = error.fields.get("dialect") if isinstance(error, VyreError) else None
                found = DialectProblem(id or file.stem, str(file), message, fix)
            if found.id.casefold() not in disabled:
                yield str(file), found


def _judge(source: str, found: Dialect, taken: frozenset[str]) -> DialectProblem | None:
    """Why a dialect cannot be used: it is for another language, or its op ids are not its own."""
    if found.language != LANGUAGE:
        newer = "vyre-foundation" if found.language > LANGUAGE else source
        reason = f"it is written for language {found.language}, this vyre-foundation speaks {LANGUAGE}"
        return DialectProblem(found.id, source, reason, f"pip install --upgrade {newer}")
    ids = [row.id for row in found.ops]
    for id in ids:
        if not id.startswith(f"{found.id}."):
            return DialectProblem(found.id, source, f"its op {id!r} has another prefix", f"call it {found.id}.…")
        if ids.count(id) > 1 or id in taken:
            return DialectProblem(found.id, source, f"its op {id!r} is defined twice", "give it an id of its own")
    try:
        check_migrations(found)
    except VyreError as error:
        return DialectProblem(found.id, source, error.message, error.fix)
    return None


def _highest(candidates: list[tuple[str, Dialect]]) -> tuple[dict[str, Dialect], list[DialectProblem]]:
    """The highest version of each dialect; two of one version exclude each other."""
    best: dict[str, tuple[str, Dialect]] = {}
    problems = []
    for source, found in sorted(candidates, key=lambda c: (c[1].id, version_order(c[1].version), c[0])):
        before = best.get(found.id)
        if before is not None:
            same = before[1].version == found.version
            winner = f"{source} has the same version" if same else f"{source} has version {found.version}"
            reason = f"version {before[1].version} is not used, because {winner}"
            problems.append(DialectProblem(found.id, before[0], reason, f"remove {before[0]} or {source}"))
        best[found.id] = source, found
    return {id: found for id, (_, found) in sorted(best.items())}, problems
