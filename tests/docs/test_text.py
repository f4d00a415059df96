"""The page about the text form: its example parses, and its tables and grammar are those of the parser."""

import re
from itertools import groupby
from pathlib import Path

import vyre as vy
from vyre_foundation.dtype import DTYPES
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ops.signs import INFIX
from vyre_foundation.text.syntax import BUFFER_WORDS, RESERVED, STATEMENT_WORDS

PAGE = (Path(__file__).parents[2] / "docs/text.md").read_text("utf-8")
EXAMPLE, GRAMMAR = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example_is_valid_and_has_every_kind_of_buffer_but_those_of_a_device() -> None:
    program = vy.parse(EXAMPLE)
    program.validate()
    assert vy.parse(vy.print_program(program)) == program
    assert {word for word in BUFFER_WORDS if re.search(rf"^  {word} ", EXAMPLE, re.MULTILINE)} == {
        *BUFFER_WORDS.keys() - {"persistent", "scratch"}
    }


def test_signs_bind_as_the_table_says() -> None:
    rows = [re.findall(r"`(.*?)`", row.replace(r"\|", "|")) for row in re.findall(r"^\| (`.*) \| .*\|$", PAGE, re.M)]
    signs = sorted(INFIX.values(), key=lambda x: -x[1])
    assert [sorted(row) for row in rows[1:]] == [sorted(s for s, _ in g) for _, g in groupby(signs, lambda x: x[1])]


def test_words_of_the_grammar_are_words_of_the_parser() -> None:
    words = set(re.findall(r'"([a-z_]{2,})"', GRAMMAR))
    assert words >= STATEMENT_WORDS | {kind.value for kind in IdKind}
    assert words >= RESERVED - BUFFER_WORDS.keys() - {dtype.name for dtype in DTYPES}
