"""Sphinx configuration: Markdown pages, no network, warnings are errors (see tox.ini)."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs/_ext"))

project = "vyre"
author = "The vyre authors"
project_copyright = "The vyre authors"
(release,) = re.findall(
    r'^__version__ = "(.+)"$', (ROOT / "packages/vyre/src/vyre/__init__.py").read_text("utf-8"), re.MULTILINE
)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "docstrings",
    "tables",
    "text_form",
]
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"  # docstrings say what arguments are; signatures with every type do not fit a phone
autodoc_default_options = {"exclude-members": "__new__"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_generated", "decisions/template.md"]

highlight_language = "none"  # blocks without a language are commands
html_theme = "furo"
html_title = f"vyre {release}"
html_show_sourcelink = False
