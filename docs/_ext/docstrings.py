"""Docstrings in the API pages: what they say in Markdown and indentation becomes reStructuredText, before Napoleon.

Code spans, pages that are named, indented code, the examples of a function and the lines of a list in indentation are
rewritten. The sources keep what is pleasant to read in an interpreter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import dedent
from typing import Any

SPAN = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)")
PAGE = re.compile(r"\bdocs/([a-z][\w/-]*)\.md\b")
SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):$")


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", process, priority=400)  # Napoleon has the priority 500
    return {"parallel_read_safe": True}


def process(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    lines[:] = [line for block in blocks(lines) for line in rewritten(block)]
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # a comment: Napoleon takes what stands before a colon in the first line for a type


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Paragraphs; indented ones belong to what stands before them: a section, or the code that they go on with."""
    held: list[str] = []
    for blank, group in groupby(lines, lambda line: not line.strip()):
        block = list(group)
        if blank:
            continue
        goes_on = held and is_indented(block) and (SECTION.match(held[0]) or is_indented(held))
        if held and not goes_on:
            yield held
        held = [*held, "", *block] if goes_on else block
    if held:
        yield held


def is_indented(block: list[str]) -> bool:
    """Tell whether every line begins with a space."""
    return all(line.startswith(" ") for line in block if line)


def rewritten(block: list[str]) -> Iterator[str]:
    """Rewrite a paragraph, and end it with a blank line."""
    head, *body = block
    if head == "Examples:":
        yield from (head, "    ::", "", *("    " + line for line in body))
    elif head == "Returns:":  # as a field: Napoleon takes what stands before a colon for a type
        yield from inline(":returns: " + "\n".join(body).strip()).split("\n")
    elif is_indented(block):
        text = dedent("\n".join(block))
        yield from (f".. code-block:: {'python' if is_python(text) else 'none'}", "")
        yield from ("    " + line for line in text.split("\n"))
    elif head.endswith(":") and body and is_indented(body) and not SECTION.match(head):
        items = dedent("\n".join(body)).split("\n")
        yield from (inline(head), "")
        yield from inline("\n".join(("  " if item[0] == " " else "- ") + item.strip() for item in items)).split("\n")
    else:
        yield from inline("\n".join(block)).split("\n")
    yield ""


def inline(text: str) -> str:
    """Rewrite the spans of code and the names of pages."""
    spans = re.split(r"(``[^`]+``)", SPAN.sub(r"``\1``\\ ", text))
    spans[::2] = [PAGE.sub(r":doc:`/\1`", part.replace("|", "\\|")) for part in spans[::2]]  # no substitutions
    return "".join(spans)


def is_python(text: str) -> bool:
    """Tell whether a text is a piece of Python."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
