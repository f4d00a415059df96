"""Names of a program as identifiers of C: readable, unique, and never a word that the target knows."""

from __future__ import annotations

import re

_OTHER = re.compile(r"[^0-9A-Za-z_]")

C_WORDS = frozenset(
    """
    auto bool break case char const continue default do double else enum extern false float for goto if inline int long
    main register restrict return short signed sizeof static struct switch true typedef union unsigned void volatile
    while
    """.split()
)


class Names:
    """Gives each name its identifier; two names never get the same one, whatever they look like."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._used = set(reserved | C_WORDS)
        self._taken: dict[str, int] = {}  # by word, how many of its choices are known to be taken

    def __call__(self, name: str) -> str:
        """`name` with other characters as underscores, and an underscore or number behind it where it is taken."""
        word = _OTHER.sub("_", name).lstrip("_") or "x"
        if word[0].isdigit():
            word = f"x{word}"
        number = self._taken.get(word, 0)
        while (choice := _choice(word, number)) in self._used:
            number += 1
        self._taken[word] = number + 1
        self._used.add(choice)
        return choice

    def inner(self) -> Names:
        """Names for a function of the unit: they avoid those of the unit, but not those of other functions."""
        return Names(frozenset(self._used))


def _choice(word: str, number: int) -> str:
    """``word``, ``word_``, ``word_1``, ``word_2``, …"""
    return word if number == 0 else f"{word}_" if number == 1 else f"{word}_{number - 1}"
