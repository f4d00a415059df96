"""What checks of a claim are made of: how one fails, and how one says that it shows nothing here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vyre_foundation.errors import VyreError, without_remedy


class BrokenClaim(VyreError):
    """A claim of a backend about itself is wrong."""

    code = "E1208"


def require(holds: bool, words: str) -> None:
    """Raise `BrokenClaim` with `words` unless the claim holds."""
    if not holds:
        raise BrokenClaim(words, fix="claim what the backend does, and do what it claims")


class NotExercised(VyreError):
    """The backend does not do what a case tests, so the case has no result."""

    code = "E1210"


def told(error: Exception) -> str:
    """An exception as a part of a claim's message, which has a remedy of its own."""
    words = without_remedy(error)
    return f"raised {type(error).__name__}{f': {words}' if words else ''}"


@contextmanager
def refused(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """The body has to raise one of these."""
    try:
        yield
    except kinds:
        return
    except Exception as error:
        raise BrokenClaim(f"{what} {told(error)}", fix="raise the typed refusal") from error
    raise BrokenClaim(f"{what} was not refused", fix="refuse it before anything runs")
