"""What to prove: which cases, how many random programs, and what is known not to work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from vyre_conform.address import ALL, Address, Query, address
from vyre_conform.case import AsEvaluated, Expected, Launch, Spec
from vyre_conform.cases import specs
from vyre_foundation.errors import VyreError
from vyre_foundation.testing import DEFAULT, NARROW, STRUCTURED, Profile, generate

# Random programs by profile; of every eight, so many of each.
PROFILES: dict[str, tuple[Profile, int]] = {
    "everything": (DEFAULT, 4),
    "structured": (STRUCTURED, 1),
    "narrow": (NARROW, 2),
    "traps": (Profile(traps=True, atomic_results=True), 1),
}


class BadGapList(VyreError, ValueError):
    """A list of known gaps with a line that is not ``QUERY  REASON``."""

    code = "E1202"


@dataclass(frozen=True, slots=True)
class Gap:
    """Cases that a backend is known to fail, and why."""

    query: Query
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """`queries` choose from the corpus, `fuzz` counts random programs, `seconds` bound one launch, `repeats` dispatch
    each case that often. `gaps` are cells that may fail, and must."""

    queries: tuple[Query, ...] = (ALL,)
    fuzz: int = 0
    seconds: float = 60.0
    repeats: int = 2
    gaps: tuple[Gap, ...] = ()

    def specs(self, seed: int) -> list[Spec]:
        """The cases, random programs last. A query for the group ``fuzz`` means random programs by their seeds."""
        return [*specs(self.queries), *random_specs(self.fuzz, seed), *_asked_for(self.queries)]

    def gap(self, address: Address) -> Gap | None:
        return next((gap for gap in self.gaps if gap.query.matches(address)), None)


def random_specs(count: int, seed: int) -> Iterator[Spec]:
    """Random programs whose seeds follow from `seed`."""
    rng = Random(f"fuzz {seed}")
    names = [name for name, (_, weight) in PROFILES.items() for _ in range(weight)]
    for number in range(count):
        yield random_spec(names[number % len(names)], rng.getrandbits(40))


def random_spec(profile: str, seed: int) -> Spec:
    """The random program of one seed."""
    return Spec(address("fuzz", profile, seed=seed), lambda _: _random(PROFILES[profile][0], seed))


def _random(profile: Profile, seed: int) -> tuple[Launch, Expected]:
    made = generate(seed, profile)
    launch = Launch(program=made.program, inputs=made.inputs, grid=made.grid, iterations=made.iterations)
    return launch, AsEvaluated()


def _asked_for(queries: Iterable[Query]) -> Iterator[Spec]:
    """The random programs that queries name one by one."""
    for query in queries:
        seed = (query.keys or {}).get("seed", "")
        if query.group == "fuzz" and query.name in PROFILES and seed.isdecimal():
            yield random_spec(query.name, int(seed))


def read_gaps(path: Path) -> tuple[Gap, ...]:
    """Known gaps from a file: on each line a query, spaces, and the reason; ``#`` begins a comment."""
    gaps = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        query, _, reason = text.partition(" ")
        if not reason.strip():
            raise BadGapList(f"{text!r} gives no reason", fix="write QUERY  REASON", where=f"{path}:{number}")
        gaps.append(Gap(Query.parse(query), reason.strip()))
    return tuple(gaps)
