"""Everything that the language has is executed by some case, and what is missing has a name."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from vyre_conform.address import Query
from vyre_conform.case import Launch
from vyre_conform.cases import specs
from vyre_conform.coverage import Kind, families, in_words, summed_up, table
from vyre_conform.oracle.evaluators import EVALUATORS, evaluate_case
from vyre_conform.suite import random_specs
from vyre_reference.scalar import Coverage


def executed(launches: Iterable[Launch]) -> Coverage:
    coverage = Coverage()
    for launch in launches:
        evaluate_case(launch, EVALUATORS["scalar"], coverage=coverage)
    return coverage


def test_families_follow_the_tables() -> None:
    sizes = {name: len(kinds) for name, kinds in families().items()}
    assert sizes["casts"] == 13 * 13
    assert sizes["atomics"] == 8 * 4 * 4
    assert sizes["loads"] == 13 * 7
    assert sizes["barriers"] == 2
    assert sum(sizes.values()) > 900


def test_a_kind_that_was_not_executed_is_named() -> None:
    rows = {row.family: row for row in table({("barrier", "grid"): 5, ("cast", "u8", "i8"): 2})}
    assert (rows["barriers"].kinds, rows["barriers"].executed, rows["barriers"].times) == (2, 1, 5)
    assert rows["barriers"].missing == (("barrier", "workgroup"),)
    assert rows["casts"].executed == 1
    words = list(in_words(rows.values()))
    assert "barriers: 1 of 2, 5 executions; not executed: workgroup" in words
    assert "ops 0/360, casts 1/169, " in summed_up(rows.values())


# The groups that have a case for each kind of node; the others repeat them in larger programs.
QUERIES = {
    "statements": ("control", "traps:one"),
    "loads": ("memory:through",),
    "atomics": ("atomics:old_values",),
    "subgroup ops": ("subgroups:all_ops",),
    "barriers": ("barriers:reverse:group=2", "grid:two_phases"),
    "ids": ("ids", "subgroups:ids"),
    "bitcasts": ("casts:bitcast",),
}
ALIKE = {"bitcasts"}
"""Every workgroup executes the same, each on other values: one is enough."""


@pytest.mark.parametrize("family", QUERIES)
def test_the_corpus_executes_every_kind(family: str) -> None:
    launches = [spec.case().launch for spec in specs([Query.parse(query) for query in QUERIES[family]])]
    if family in ALIKE:
        launches = [replace(launch, grid=(1, 1, 1)) for launch in launches]
    counts = executed(launches).counts
    (row,) = [row for row in table(counts) if row.family == family]
    assert row.missing == ()


def test_random_programs_reach_every_kind_of_statement() -> None:
    counts = executed(spec.case().launch for spec in random_specs(24, 1)).counts
    reached = {kind[0] for kind in counts}
    wanted: set[Kind] = {kind for kinds in families().values() for kind in kinds}
    assert {kind[0] for kind in wanted} <= reached
    rows = {row.family: row for row in table(counts)}
    assert rows["statements"].missing == rows["barriers"].missing == rows["ids"].missing == ()
    assert rows["ops"].executed > rows["ops"].kinds // 2
