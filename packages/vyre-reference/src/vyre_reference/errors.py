"""What an evaluator can find wrong with a program while it runs: faults that validation cannot rule out.

The two evaluators raise the same classes. A place is the path of a statement, as in ``body[2].then[0]``; an invocation
is its linear id in the launch.
"""

from __future__ import annotations

from vyre_driver.errors import BackendError
from vyre_foundation.ir.origin import Origin


class EvaluationError(BackendError):
    """Base of the faults that show only at run time."""

    number = 1100


class UndefinedBehaviour(EvaluationError):
    """A raw op outside of its precondition, or an access or a cast that was proven to fit and does not."""

    number = 1101
    remedy = "correct the legalization that claimed the proof"

    def __init__(self, what: str, invocation: int, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"invocation {invocation}: {what}", fix=fix, where=where, what=what, invocation=invocation)


class DivergentBarrier(EvaluationError):
    """Invocations that must meet do not: they wait at different places or in different iterations, or one has ended."""

    number = 1102
    remedy = "move the barrier or collective to where every invocation of the scope arrives in the same iteration"

    def __init__(self, waiting: int, at: str, other: int, instead: str, *, fix: str = "", where: str = "") -> None:
        message = f"invocation {waiting} waits at {at}, but invocation {other} {instead}"
        super().__init__(message, fix=fix, where=where, waiting=waiting, at=at, other=other, instead=instead)


class DataRace(EvaluationError):
    """Two invocations access one element between two barriers, and at least one of them writes without an atomic.

    `first` and `second` are (invocation, what it does, the path of the statement), and `origins` the lines of Python
    that wrote the two, where they are known. Both are None where each run of the program has raced in another way.
    """

    number = 1103
    remedy = "put a barrier between the two, make both atomic, or give each invocation an element of its own"

    def __init__(
        self,
        buffer: str,
        index: int,
        first: tuple[int, str, str] | None = None,
        second: tuple[int, str, str] | None = None,
        *,
        origins: tuple[Origin | None, Origin | None] = (None, None),
        fix: str = "",
        where: str = "",
    ) -> None:
        one, other = (_access(*known) for known in zip((first, second), origins, strict=True))
        message = f"{one} and {other}, with no barrier between them"
        place = where or f"{buffer}[{index}]"
        facts = {"buffer": buffer, "index": index, "first": first, "second": second, "origins": origins}
        super().__init__(message, fix=fix, where=place, **facts)


def _access(known: tuple[int, str, str] | None, origin: Origin | None) -> str:
    if known is None:
        return "an invocation that changes from run to run uses it"
    invocation, does, path = known
    return f"invocation {invocation} {does} at {path}{'' if origin is None else f' ({origin})'}"


class OutOfFuel(EvaluationError):
    """The evaluation took more steps than its budget allows."""

    number = 1104
    remedy = "raise the budget, or evaluate a smaller launch"

    def __init__(self, steps: int, *, fix: str = "", where: str = "") -> None:
        super().__init__(f"the budget of {steps} steps is spent", fix=fix, where=where, steps=steps)
