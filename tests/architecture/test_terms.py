"""Identifiers and file names use the terms of the field; docs/glossary.md lists them.

Names are cut into words, at underscores and at capitals.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TERMS = {
    "begun": "submitted, in progress or started",
    "dear": "expensive",
    "disagreement": "mismatch",
    "disagreements": "mismatches",
    "kept": "cached, persistent or resident",
    "misfit": "stale mutant",
    "misfits": "stale mutants",
    "nobody": "none, or the actor",
    "overwritten": "dead store or dead initialisation",
    "parting": "divergence or divergent exit",
    "patience": "deadline, timeout or backoff",
    "quarrel": "mismatch",
    "quarrels": "mismatches",
    "room": "pooled buffer, output buffer or capacity",
    "rooms": "pooled buffers or output buffers",
    "rounds": "iterations or trip count",
    "said": "the thing itself: message, reason or answer",
    "spare": "idle launch or pooled buffer",
    "together": "lockstep, uniform or batch",
    "whoever": "the actor",
}
"""Words that no identifier has, and what to write."""
PHRASES = {
    "in_step": "lockstep or masked",
    "in_a_row": "coarsening or batch of workgroups",
}
NAME = re.compile(r"[^\W\d]\w*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@cache
def refused(name: str) -> list[str]:
    """The refused words of an identifier, each with its replacement."""
    words = [word.lower() for word in WORD.findall(name)]
    terms = [f"{word}: write {TERMS[word]}" for word in words if word in TERMS]
    whole = f"_{'_'.join(words)}_"
    return terms + [f"{phrase}: write {new}" for phrase, new in PHRASES.items() if f"_{phrase}_" in whole]


def findings(source: str) -> Iterator[str]:
    """Line, identifier and replacement of each refused word in a module."""
    if not any(map(refused, NAME.findall(source))):
        return  # not even in a text or a comment: most modules need not be cut into tokens
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            for what in refused(token.string):
                yield f"{token.start[0]}: {token.string}: {what}"


def modules(root: Path) -> list[Path]:
    files = sorted((root / "packages").glob("*/src/**/*.py"))
    return files


def test_identifiers_use_the_terms_of_the_field(root: Path) -> None:
    found = [f"{file.relative_to(root)}:{line}" for file in modules(root) for line in findings(file.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_files_are_named_in_the_terms_of_the_field(root: Path) -> None:
    assert not [f"{file.relative_to(root)}: {what}" for file in modules(root) for what in refused(file.stem)]


@pytest.mark.parametrize(
    "line",
    ["rounds = 3", "def goes_in_step(): ...", "class KeptCode: ...", "x.most_in_a_row()", "MISFITS = 1", "x_room = 0"],
)
def test_a_refused_word_is_found(line: str) -> None:
    assert list(findings(line))


@pytest.mark.parametrize("line", ["round(x)", "is_step", "keep = mushroom", "background = 1", "x = 'rounds'  # kept"])
def test_other_words_are_not(line: str) -> None:
    assert not list(findings(line))
