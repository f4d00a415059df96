"""Every code is explained: rules by two programs, errors by their class and a row."""

import re

import pytest

from vyre_foundation.errors import VyreError
from vyre_foundation.explain import OWN_MODULES, Explanation, explain_errors, explanations, nearest
from vyre_foundation.text import parse, print_program
from vyre_foundation.validate import InvalidProgram, validate
from vyre_foundation.validate.codes import REASONS, RULES

ALL = explanations()
OWN = {e.code for e in explain_errors(*(f"vyre_foundation.{module}" for module in OWN_MODULES))}
SHOWN = [e for e in ALL.values() if e.broken]


def test_every_rule_and_every_error_of_the_language_is_there() -> None:
    assert {*RULES, *REASONS} < set(ALL)
    assert sorted(OWN) == ["E000", *(f"E{n}" for n in range(101, 113)), *(f"E{n}" for n in range(120, 132))]


def test_codes_are_in_order() -> None:
    assert list(ALL) == sorted(ALL, key=lambda code: (code[0], int(code[1:])))


@pytest.mark.parametrize("known", ALL.values(), ids=lambda e: e.code)
def test_an_explanation_is_complete(known: Explanation) -> None:
    assert known.meaning.endswith((".", "…"))
    assert known.when
    assert known.repair
    assert re.search(r"\.$", known.why), "sentences"
    assert bool(known.broken) == bool(known.repaired)
    assert bool(known.name) == (known.code[0] == "E")


@pytest.mark.parametrize("known", SHOWN, ids=lambda e: e.code)
def test_the_broken_program_has_this_finding_alone(known: Explanation) -> None:
    program = parse(known.broken)
    with pytest.raises(InvalidProgram) as caught:
        validate(program)
    assert [finding.code for finding in caught.value.findings] == [known.code]


@pytest.mark.parametrize("known", SHOWN, ids=lambda e: e.code)
def test_the_repaired_program_is_valid_and_both_are_written_as_they_are_printed(known: Explanation) -> None:
    validate(parse(known.repaired))
    for text in (known.broken, known.repaired):
        assert print_program(parse(text)).strip() == text


def test_the_meaning_of_an_error_is_what_its_class_says() -> None:
    assert ALL["E102"].meaning == "A Python value cannot be represented in the type of the literal."
    assert ALL["E102"].name == "LiteralOutOfRange"


@pytest.mark.parametrize(
    ("word", "code"), [("V0021", "V021"), ("v021", "V021"), ("e131", "E131"), ("texterror", "E131"), ("?", None)]
)
def test_the_nearest_code(word: str, code: str | None) -> None:
    found = nearest(word, ALL.values())
    assert (found.code if found else None) == code


def test_a_module_that_defines_no_error_explains_nothing() -> None:
    assert explain_errors("vyre_foundation.dtype") == []
    assert VyreError.code == "E000"
