"""Where caches say what is wrong, or missing."""

from __future__ import annotations

import logging


def logger() -> logging.Logger:
    """The logger ``vyre.cache``."""
    return logging.getLogger("vyre.cache")
