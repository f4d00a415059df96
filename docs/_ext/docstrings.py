"""Docstrings in the API pages: their Markdown code spans become those of reStructuredText."""

from __future__ import annotations

import re
from typing import Any

SPAN = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)")


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True}


def process(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place."""
    spans = re.split(r"(``[^`]+``)", SPAN.sub(r"``\1``\\ ", "\n".join(lines)))
    spans[::2] = [text.replace("|", "\\|") for text in spans[::2]]  # absolute values are no substitutions
    lines[:] = "".join(spans).split("\n")
