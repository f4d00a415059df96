"""Addresses and the queries that mean them."""

import pytest

from vyre_conform.address import Address, BadQuery, Query, address

ADD = address("ops", "add", dtype="u32")
GATHER = address("memory", "gather", memory="storage", index="i8")
PLAIN = address("traps", "none")


def test_an_address_reads_as_it_is_written() -> None:
    assert str(ADD) == "ops:add:dtype=u32"
    assert str(GATHER) == "memory:gather:memory=storage,index=i8"
    assert str(PLAIN) == "traps:none"


def test_every_address_is_a_query_for_itself_alone() -> None:
    every = (ADD, GATHER, PLAIN, address("ops", "add", dtype="u8"), address("ops", "add_sat", dtype="u32"))
    for one in every:
        assert [other for other in every if Query.parse(str(one)).matches(other)] == [one]


# fmt: off
ROWS = [
    ("*",                              [ADD, GATHER, PLAIN], []),
    ("ops",                            [ADD],                [GATHER, PLAIN]),
    ("ops:*",                          [ADD],                [GATHER]),
    ("ops:a*",                         [ADD],                [GATHER]),
    ("ops:sub",                        [],                   [ADD]),
    ("ops:add:dtype=u*",               [ADD],                []),
    ("ops:add:dtype=i*",               [],                   [ADD]),
    ("*:*:dtype=u32",                  [ADD],                [GATHER, PLAIN]),
    ("memory:gather:index=i8",         [],                   [GATHER]),
    ("memory:gather:index=i8,*",       [GATHER],             [ADD]),
    ("memory:gather:index=i8,memory=storage", [GATHER],      []),
    ("memory:*:size=3,*",              [],                   [GATHER]),
    ("traps:none:*",                   [PLAIN],              [ADD]),
]
# fmt: on


@pytest.mark.parametrize(("query", "matches", "misses"), ROWS)
def test_queries(query: str, matches: list[Address], misses: list[Address]) -> None:
    parsed = Query.parse(query)
    assert all(parsed.matches(one) for one in matches)
    assert not any(parsed.matches(one) for one in misses)


@pytest.mark.parametrize("text", ["", ":", "ops::dtype=u8", "ops:add:dtype", ":add"])
def test_a_query_without_meaning_is_refused(text: str) -> None:
    with pytest.raises(BadQuery, match=r"Fix: write group:name:key=value,\*"):
        Query.parse(text)
