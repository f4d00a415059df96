"""Captions in the navigation are headings, and a heading has a level: Sphinx writes the role alone."""

from __future__ import annotations

from typing import Any


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("html-page-context", add_levels, priority=900)  # behind the theme
    return {"parallel_read_safe": True}


def add_levels(app: Any, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Add the level to the captions of the theme's navigation."""
    tree = context["furo_navigation_tree"]
    context["furo_navigation_tree"] = tree.replace('role="heading">', 'role="heading" aria-level="2">')
