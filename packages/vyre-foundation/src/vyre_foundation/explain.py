"""What codes stand for, at length: `vyre explain` and the pages of the documentation read it from here.

Every distribution has a file ``codes.toml`` in its package, and names the modules of its error classes in the entry
point group ``vyre.codes``, as in ``mine = "my_package.errors"``. What an error means is the first paragraph of its
class; the file says when it comes up, what repairs it and why it is there. A row with the key ``rule`` is the code of a
finding, which has no class: the key says what it means.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.resources import files
from inspect import cleandoc

from vyre_foundation.discovery.migration import WARNINGS
from vyre_foundation.errors import VyreError
from vyre_foundation.plugins import entry_points
from vyre_foundation.validate.codes import REASONS, RULES, Rule

GROUP = "vyre.codes"
OWN_MODULES = (
    *("errors", "dialects.attributes", "dialects.errors", "discovery.manifest", "discovery.migration"),
    *("validate.facts", "wire.errors", "text.errors"),
)
"""Where this distribution has its error classes."""

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One code: what it means, when it comes up, what repairs it, and why it is there.

    `name` is the class of an error, empty for a rule. `broken` and `repaired` are programs in the text form, where two
    small ones show the point.
    """

    code: str
    name: str
    meaning: str
    when: str
    repair: str
    why: str
    broken: str = ""
    repaired: str = ""


@cache
def explanations() -> Mapping[str, Explanation]:
    """Every code of every installed distribution, in order. A distribution that cannot be asked is left out."""
    found = list(_language())
    for entry in sorted(entry_points(GROUP), key=lambda entry: entry.value):
        try:
            found += explain_errors(entry.value) + explain_rules(entry.value)
        except Exception as error:
            logging.getLogger("vyre.codes").warning("%s explains nothing: %s", entry.value, error)
    return {e.code: e for e in sorted(found, key=lambda e: (e.code[0], int(e.code[1:])))}


def explain_errors(*modules: str) -> list[Explanation]:
    """The errors that modules of one package define, with the rows of the package's ``codes.toml``."""
    package = modules[0].partition(".")[0]
    for module in modules:
        import_module(module)
    rows = _rows(package)
    return [
        Explanation(code=c.code, name=c.__name__, meaning=_meaning(c), **_fields(rows[c.code]))
        for c in _classes(VyreError)
        if c.__module__ in modules and c.code in rows and _states_a_code(c)
    ]


def explain_rules(module: str) -> list[Explanation]:
    """The rules in the ``codes.toml`` of the package of a module."""
    return [
        Explanation(
            code=code, name="", **{"meaning" if key == "rule" else key: text for key, text in _fields(row).items()}
        )
        for code, row in _rows(module.partition(".")[0]).items()
        if "rule" in row
    ]


def nearest(word: str, known: Iterable[Explanation]) -> Explanation | None:
    """The code or error that is spelled most like `word`, whatever its case."""
    spelled = {text.lower(): e for e in known for text in (e.name, e.code) if text}
    close = get_close_matches(word.lower(), spelled, n=1, cutoff=0.5)
    return spelled[close[0]] if close else None


def _language() -> Iterator[Explanation]:
    package = __name__.partition(".")[0]
    yield from explain_errors(*(f"{package}.{module}" for module in OWN_MODULES))
    rows = _rows(package)
    for code, rule in {**RULES, **REASONS, **WARNINGS}.items():
        yield _rule(code, rule, rows[code])


def _rule(code: str, rule: Rule, row: Row) -> Explanation:
    texts = _fields({**row, "when": rule.example, "repair": rule.repair})
    return Explanation(code=code, name="", meaning=rule.rule, **texts)


def _rows(package: str) -> Mapping[str, Row]:
    return tomllib.loads(files(package).joinpath("codes.toml").read_text("utf-8"))


def _fields(row: Row) -> dict[str, str]:
    """A row's texts; lines of prose are one paragraph."""
    return {key: text.strip() if key in ("broken", "repaired") else " ".join(text.split()) for key, text in row.items()}


def _classes(base: type[VyreError]) -> Iterator[type[VyreError]]:
    yield base
    for subclass in base.__subclasses__():
        yield from _classes(subclass)


def _states_a_code(error: type[VyreError]) -> bool:
    """Whether the code is the class's own, not that of a class above."""
    return all(getattr(base, "code", None) != error.code for base in error.__bases__)


def _meaning(error: type[VyreError]) -> str:
    return " ".join(cleandoc(error.__doc__ or "").split("\n\n")[0].split())
