"""The plugin of pytest: two options. Nothing happens unless they are given, or a test class asks for it.

``pytest --vyre-backend=ID --pyargs vyre_conform.pytest_cases`` judges a backend without a line of test code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin, as pytest asks."""
    group = parser.getgroup("vyre", "vyre conformance")
    group.addoption("--vyre-backend", dest="vyre_backends", action="append", default=[], metavar="ID",
                    help="judge this backend in the classes derived from Conformance; may be repeated")  # fmt: skip
    group.addoption("--vyre-cases", dest="vyre_cases", action="append", default=[], metavar="QUERY",
                    help="only these cases, as in ops:add:dtype=u32,*; may be repeated")  # fmt: skip
