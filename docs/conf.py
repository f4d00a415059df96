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
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "docstrings",
    "headings",
    "text_form",
]
napoleon_use_ivar, napoleon_attr_annotations = True, False  # autodoc lists attributes itself
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"  # docstrings say what arguments are; signatures with every type do not fit a phone
autodoc_default_options = {"exclude-members": "__new__"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "decisions/template.md"]

highlight_language = "none"  # blocks without a language are commands
autosummary_generate = False  # the tables link to the descriptions on their own page
nitpicky = True
# Classes of the layers below, and errors that have no place in the API pages.
nitpick_ignore_regex = [("py:.*", r"(vyre_(foundation|driver)\..*|BadAttribute|SignatureMismatch|UnknownCallee)")]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
templates_path = ["_templates"]
pygments_dark_style = "a11y-dark"
html_title = f"vyre {release}"
html_show_sourcelink = False
