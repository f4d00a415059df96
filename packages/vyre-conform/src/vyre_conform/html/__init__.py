"""One self-contained page about a run: nothing is loaded from anywhere."""

from vyre_conform.html.page import write_page

__all__ = ["write_page"]
