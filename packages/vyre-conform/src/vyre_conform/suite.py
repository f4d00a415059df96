"""What to prove: which cases, how many random programs, and what is known not to work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from random import Random

from vyre_conform.address import ALL, Address, BadQuery, Query, address
from vyre_conform.case import AsEvaluated, Expected, Launch, Size, Spec
from vyre_conform.cases import GROUPS, group, specs
from vyre_conform.gaps import Gap
from vyre_foundation.testing import (
    DEFAULT,
    EVERYTHING,
    NARROW,
    STRUCTURED,
    GeneratedProgram,
    accumulation,
    addressing,
    generate,
    recurrence,
    row_walk,
)

# Random programs by their subject, and how many of every eleven are about it.
PROFILES: dict[str, tuple[Callable[[int], GeneratedProgram], int]] = {
    "everything": (partial(generate, profile=DEFAULT), 3),
    "structured": (partial(generate, profile=STRUCTURED), 1),
    "narrow": (partial(generate, profile=NARROW), 2),
    "traps": (partial(generate, profile=EVERYTHING), 1),
    "recurrences": (recurrence, 1),
    "accumulations": (accumulation, 1),
    "addressing": (addressing, 1),
    "rows": (row_walk, 1),
}


PROGRAMS = {Size.CI: 100, Size.FULL: 500, Size.NIGHTLY: 100_000}
"""Random programs of a run of each size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The cases of a run.

    `queries` choose from the corpus of `size`, `fuzz` counts random programs (None: as many as the size has), `seconds`
    bound one launch, `repeats` dispatch each case that often. `gaps` are cells that may fail, and must. `shard` is the
    part of the cases that is run, counted from 1, and how many parts there are.
    """

    queries: tuple[Query, ...] = (ALL,)
    size: Size = Size.CI
    fuzz: int | None = 0
    seconds: float = 60.0
    repeats: int = 2
    gaps: tuple[Gap, ...] = ()
    shard: tuple[int, int] = (1, 1)

    def whole(self, seed: int) -> list[Spec]:
        """Give the cases of all shards, random programs last.

        A query for the group ``fuzz`` means random programs by their seeds. `BadQuery` if a query means nothing.
        """
        found = [*specs(self.queries, self.size), *random_specs(self.programs, seed), *_asked_for(self.queries)]
        idle = [query.text for query in self.queries if not any(map(query.matches, _addresses(found)))]
        if idle:
            fix = (
                "`vyre-conform list` shows the cases, those of other sizes by --size; "
                "random programs come by --fuzz N, one of them as fuzz:everything:seed=1"
            )
            raise BadQuery(f"no case matches {', '.join(idle)}", fix=fix)
        return found

    def specs(self, seed: int) -> list[Spec]:
        """The cases of this shard: every n-th, so that shards take about as long as one another."""
        part, parts = self.shard
        return self.whole(seed)[part - 1 :: parts]

    @property
    def programs(self) -> int:
        """How many random programs there are."""
        return PROGRAMS[self.size] if self.fuzz is None else self.fuzz


def _addresses(found: Iterable[Spec]) -> Iterator[Address]:
    for spec in found:
        yield spec.address
        yield from spec.parts


def random_specs(count: int, seed: int) -> Iterator[Spec]:
    """Random programs whose seeds follow from `seed`."""
    rng = Random(f"fuzz {seed}")
    names = [name for name, (_, weight) in PROFILES.items() for _ in range(weight)]
    for number in range(count):
        yield random_spec(names[number % len(names)], rng.getrandbits(40))


def random_spec(profile: str, seed: int) -> Spec:
    """The random program of one seed."""
    return Spec(address("fuzz", profile, seed=seed), lambda _: _random(PROFILES[profile][0], seed))


def _random(make: Callable[[int], GeneratedProgram], seed: int) -> tuple[Launch, Expected]:
    made = make(seed)
    launch = Launch(
        program=made.program, inputs=made.inputs, grid=made.grid, iterations=made.iterations, entry="canaries"
    )
    return launch, AsEvaluated()


def _asked_for(queries: Iterable[Query]) -> Iterator[Spec]:
    """The random programs that queries name one by one."""
    for query in queries:
        seed = (query.keys or {}).get("seed", "")
        if query.group == "fuzz" and query.name in PROFILES and seed.isdecimal():
            yield random_spec(query.name, int(seed))


def find(text: str) -> Spec:
    """The case of an address, or `BadQuery`."""
    name = text.partition(":")[0]
    if name in GROUPS and (spec := _by_address(name).get(text)) is not None:
        return spec
    asked = list(_asked_for([Query.parse(text)]))
    if not asked:
        raise BadQuery(f"no case has the address {text}", fix="`vyre-conform list` shows the cases")
    return asked[0]


@cache
def _by_address(name: str) -> dict[str, Spec]:
    return {str(spec.address): spec for spec in group(name)}
