"""All cases, for ``pytest --vyre-backend=ID --pyargs vyre_conform.pytest_cases``."""

from vyre_conform.testing import Conformance


class TestConformance(Conformance):
    """The backends are those of the command line."""
