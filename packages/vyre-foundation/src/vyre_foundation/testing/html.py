"""A check of HTML fragments: every element is closed, and nothing is there but what the project writes."""

from __future__ import annotations

from html.parser import HTMLParser

ELEMENTS = frozenset(
    "a body details div g header html head meta pre rect small span style summary svg table tbody td text th thead"
    " title tr circle line polyline polygon path marker defs !doctype".split()
)
VOID = frozenset({"meta"})


class FragmentParser(HTMLParser):
    """Parses one fragment. `text` is what a reader sees, without styles and titles of windows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.elements: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter an element, which must be a known one without scripts."""
        assert tag in ELEMENTS, f"an element <{tag}> came from outside"
        for name, value in attrs:
            assert not name.startswith("on"), f"<{tag}> has a script {name}={value!r}"
            assert "://" not in (value or "") or name == "xmlns", f"<{tag}> loads {value!r}"
        self.elements.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter and leave an element."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Leave the innermost element, which must be this one."""
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        """Add text."""
        if "style" not in self.open:
            self.text.append(data)


def parsed(fragment: str) -> FragmentParser:
    """Parse a fragment; AssertionError if it is not well-formed, or has an element that came from outside."""
    parser = FragmentParser()
    parser.feed(fragment)
    parser.close()
    assert not parser.open, f"never closed: {parser.open}"
    return parser
