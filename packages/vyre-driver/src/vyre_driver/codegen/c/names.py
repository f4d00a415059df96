"""Names of a program as identifiers of C: readable, unique, and never a word that the target knows.

No list has all macros and types of all compilers, so what could be one becomes another word: by custom a macro has a
capital letter, and C and POSIX reserve names that end in ``_t`` for types.
"""

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

LONGEST = 60
"""Characters. Compilers name files after kernels, and names of files are short: one of 1,020 ended the process."""


class Names:
    """Gives each name its identifier; two names never get the same one, whatever they look like."""

    def __init__(self, reserved: frozenset[str], prefixes: tuple[str, ...] = ()) -> None:
        self._used, self._prefixes = set(reserved | C_WORDS), prefixes
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        """An identifier for `name`, which no other name gets.

        It is the beginning of `name` with other characters as underscores, and an underscore or number behind it where
        it is taken, or may mean something to a compiler.
        """
        word = _OTHER.sub("_", name).lstrip("_")[:LONGEST] or "x"
        if word[0].isdigit():
            word = f"x{word}"
        is_free = word not in self._used and not self._may_be_known(word)
        return self._take(word) if is_free else self._first_free(word, f"{word}_")

    def temporary(self) -> str:
        """A name for a value that the program has no name for: t0, t1, and so on."""
        return self._first_free("t", "t0")

    def inner(self) -> Names:
        """Names for a function of the unit: they avoid those of the unit, but not those of other functions."""
        return Names(frozenset(self._used), self._prefixes)

    def _may_be_known(self, word: str) -> bool:
        return word != word.lower() or word.endswith("_t") or word.startswith(self._prefixes)

    def _first_free(self, stem: str, choice: str) -> str:
        """`choice`, or `stem` with the next number that is free."""
        while choice in self._used:
            number = self._numbers[stem] = self._numbers.get(stem, 0) + 1
            choice = f"{stem}{number}"
        return self._take(choice)

    def _take(self, word: str) -> str:
        self._used.add(word)
        return word
