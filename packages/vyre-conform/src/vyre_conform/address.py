"""Addresses of cases, and queries over them.

An address reads ``group:name:key=value,key=value``. A query is an address in which group, name and values may be
patterns (``*``, ``?``, ``[…]``); what it leaves out on the right matches everything, and ``,*`` after some keys allows
others beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from vyre_foundation.errors import VyreError


class BadQuery(VyreError, ValueError):
    """A query that no address could have."""

    code = "E1201"


@dataclass(frozen=True, slots=True)
class Address:
    """The name of a case: its group, its name in the group, and what tells it from its siblings."""

    group: str
    name: str
    keys: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        tail = ",".join(f"{key}={value}" for key, value in self.keys)
        return f"{self.group}:{self.name}:{tail}" if tail else f"{self.group}:{self.name}"


def address(group: str, name: str, /, **keys: object) -> Address:
    """An address; values are written as text."""
    return Address(group, name, tuple((key, str(value)) for key, value in keys.items()))


def parse_address(text: str) -> Address:
    """The inverse of `str`; `ValueError` for a text that is no address."""
    group, _, rest = text.partition(":")
    name, _, tail = rest.partition(":")
    pairs = [word.partition("=") for word in tail.split(",")] if tail else []
    if not group or not name or not all(equals for _, equals, _ in pairs):
        raise ValueError(f"{text!r} is not an address")
    return Address(group, name, tuple((key, value) for key, _, value in pairs))


@dataclass(frozen=True, slots=True)
class Query:
    """Patterns for group and name, and for the values of keys; None for the keys means any."""

    group: str = "*"
    name: str = "*"
    keys: Mapping[str, str] | None = None
    is_open: bool = True
    """Whether keys that are not named may be there."""
    text: str = field(default="*", compare=False)

    @classmethod
    def parse(cls, text: str) -> Query:
        """The query that `text` spells, or `BadQuery`."""
        group, _, rest = text.strip().partition(":")
        name, _, tail = rest.partition(":")
        if not group or (rest and not name):
            raise BadQuery(f"the query {text!r} has an empty part", fix="write group:name:key=value,*")
        words = [word.strip() for word in tail.split(",") if word.strip()]
        pairs = [word for word in words if word != "*"]
        if any("=" not in pair for pair in pairs):
            raise BadQuery(f"{tail!r} is not a list of key=value", fix="write group:name:key=value,*")
        keys = dict(pair.split("=", 1) for pair in pairs)
        return cls(group, name or "*", keys, not words or "*" in words, text)

    @property
    def is_named(self) -> bool:
        """Whether group and name are spelled out."""
        return not set("*?[") & {*self.group, *self.name}

    def matches_group(self, group: str) -> bool:
        """Whether the query may mean addresses of this group."""
        return fnmatchcase(group, self.group)

    def matches(self, address: Address) -> bool:
        """Whether `address` is one of those that the query means."""
        if not (self.matches_group(address.group) and fnmatchcase(address.name, self.name)):
            return False
        keys, wanted = dict(address.keys), self.keys or {}
        if not self.is_open and set(keys) != set(wanted):
            return False
        return all(key in keys and fnmatchcase(keys[key], pattern) for key, pattern in wanted.items())


ALL = Query()
