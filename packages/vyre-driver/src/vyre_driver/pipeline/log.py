"""Where caches say what is wrong, or missing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


def logger() -> logging.Logger:
    """The logger ``vyre.cache``. Most processes have nothing to say, and do not import `logging`."""
    return logging.getLogger("vyre.cache")
