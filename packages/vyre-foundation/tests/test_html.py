"""Programs in notebooks: well-formed HTML, everything escaped."""

from __future__ import annotations

import pytest

from vyre_foundation import Buffer, Program, parse, print_program, program, u32
from vyre_foundation.ir.buffer import Access
from vyre_foundation.markup import Html, escaped, folded, fragment, page, table
from vyre_foundation.testing.html import parsed
from vyre_foundation.text.highlight import MAX_LINES, highlighted

HOSTILE = [
    *("<script>alert(1)</script>", 'a" onclick="x', "</pre></div>", "&lt;b&gt;", "<!--", "]]>", "'><img src=x>"),
    "é中\u202e",
]


def doubling(name: str = "doubling") -> Program:
    with program(name, workgroup_size=64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        with p.if_(p.global_id(0) < 3):
            out[p.global_id(0)] = a[p.global_id(0)] * 2
    return p.build()


def html(value: object) -> str:
    return value._repr_html_()  # type: ignore[attr-defined,no-any-return]


def test_a_program_shows_facts_buffers_and_text() -> None:
    found = parsed(html(doubling()))
    text = "".join(found.text)
    for expected in ("program doubling", doubling().fingerprint(), "every schedule gives the same bytes", "len(a)"):
        assert expected in text
    assert print_program(doubling()).strip() in text
    assert found.elements.count("table") == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name: str) -> None:
    assert f"program {name}" in "".join(parsed(html(doubling(name))).text)
    refused = Program("odd", (Buffer(name, u32, Access.READ, binding=0),), (1, 1, 1), ())
    text = "".join(parsed(html(refused)).text)
    assert name in text
    assert "invalid: 1 findings" in text


@pytest.mark.parametrize("text", HOSTILE)
def test_every_part_escapes(text: str) -> None:
    made = fragment(text, text, text, table((text, text), [(text, 1)], (1,)), folded(text, text), highlighted(text))
    parsed(made)
    parsed(page(text, made))


def test_what_is_html_stays() -> None:
    assert escaped(Html("<b>")) == "<b>"
    assert escaped("<b>") == "&lt;b&gt;"
    assert escaped(3) == "3"


def test_an_invalid_program_shows_its_findings() -> None:
    bad = Program("bad", (Buffer("a", u32, Access.READ, binding=5),), (0, 1, 1), ())
    text = "".join(parsed(html(bad)).text)
    assert "invalid: " in text
    assert "program bad" in text


def test_colours_leave_the_text_as_it_is() -> None:
    text = print_program(doubling("`odd` name")) + "\n// a comment, and 1 # more\n"
    found = parsed(highlighted(text))
    assert "".join(found.text).strip() == text.strip()
    assert found.elements.count("span") > 10
    assert '<span class="t">u32</span>' in highlighted(text)
    assert '<span class="k">if</span>' in highlighted(text)
    assert '<span class="c">// a comment, and 1 # more</span>' in highlighted(text)


def test_a_long_text_is_cut() -> None:
    found = highlighted("\n".join(["// line"] * (MAX_LINES + 5)))
    assert "… 5 more lines" in found
    assert found.count("// line") == MAX_LINES


def test_text_without_tokens_is_shown_plain() -> None:
    assert highlighted("a ` b") == "<pre>a ` b</pre>"
    parse(print_program(doubling()))
