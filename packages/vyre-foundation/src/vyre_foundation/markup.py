"""HTML for notebooks: fragments that need no script, load nothing, and are legible on light and dark grounds.

Whatever comes from outside is escaped; only what is `Html` already is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as _escape

CSS = """
.vyre{font:13px/1.45 system-ui,sans-serif;color:inherit;margin:.3em 0;max-width:72em;overflow-x:auto}
.vyre header{font-weight:600;margin:0 0 .3em}
.vyre header small{font-weight:400;opacity:.72;margin-left:.6em}
.vyre .table{overflow-x:auto}
.vyre table{border-collapse:collapse;margin:.3em 0 .6em;font-size:inherit;color:inherit;background:none}
.vyre tr,.vyre tbody tr:nth-child(odd),.vyre tbody tr:hover{background:none}
.vyre th,.vyre td{padding:.15em .9em .15em 0;text-align:left;vertical-align:top;border:0;white-space:normal}
.vyre thead th{font-weight:600;border-bottom:1px solid rgba(128,128,128,.5);vertical-align:bottom}
.vyre td.number,.vyre th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.vyre td:first-child{white-space:nowrap}
.vyre pre{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:.3em 0;padding:.5em .8em;
 border-left:3px solid rgba(128,128,128,.45);background:rgba(128,128,128,.09);color:inherit;
 overflow-x:auto;white-space:pre}
.vyre summary{cursor:pointer;opacity:.8}
.vyre svg{color:inherit;max-width:100%;height:auto;display:block;margin:.3em 0}
.vyre .k{color:#9a63e8;font-weight:600}.vyre .t{color:#1b8aa5}.vyre .n{color:#cb7014}
.vyre .s{color:#3a8f45}.vyre .c{opacity:.62;font-style:italic}
""".strip()
"""The style of all fragments. Its colours have enough contrast on white and on black."""


class Html(str):
    """Text that is HTML already, and safe."""

    __slots__ = ()


def escaped(text: object) -> Html:
    """Escape text for element contents and quoted attributes; what is `Html` stays as it is.

    Args:
        text: Anything with a text form.
    """
    return text if isinstance(text, Html) else Html(_escape(str(text), quote=True))


def fragment(title: str, note: str, *parts: str) -> str:
    """Make what a notebook shows of one object.

    Args:
        title: The heading.
        note: What stands small beside it.
        *parts: What comes below, `Html` or text.

    Returns:
        One element with its style.
    """
    small = f"<small>{escaped(note)}</small>" if note else ""
    body = "".join(escaped(part) for part in parts)
    return f'<style>{CSS}</style><div class="vyre"><header>{escaped(title)}{small}</header>{body}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()) -> Html:
    """Make a table.

    Args:
        head: The headings of the columns; empty for none.
        rows: The cells of each row.
        numbers: The positions of columns that are aligned at the right.
    """
    right = set(numbers)

    def cells(name: str, row: Sequence[object]) -> str:
        return "".join(
            f"<{name}{' class=number' if n in right else ''}>{escaped(cell)}</{name}>" for n, cell in enumerate(row)
        )

    top = f"<thead><tr>{cells('th', head)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return Html(f'<div class="table"><table>{top}<tbody>{body}</tbody></table></div>')


def folded(summary: str, *parts: str, is_open: bool = False) -> Html:
    """Make a part that a reader can fold.

    Args:
        summary: The line that stays.
        *parts: What is folded, `Html` or text.
        is_open: Whether it begins unfolded.
    """
    body = "".join(escaped(part) for part in parts)
    return Html(f"<details{' open' if is_open else ''}><summary>{escaped(summary)}</summary>{body}</details>")


def page(title: str, body: str) -> str:
    """Make a document of a fragment, for a file.

    Args:
        title: The title of the window.
        body: What `fragment` returned.

    Returns:
        A page that loads nothing and follows the reader's choice of light or dark.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escaped(title)}</title>"
        "<style>:root{color-scheme:light dark}body{margin:1.5em;background:Canvas;color:CanvasText}</style>"
        f"</head><body>{body}</body></html>\n"
    )
