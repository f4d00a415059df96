"""The texts of the errors, their codes, and that they travel between processes."""

from __future__ import annotations

import pickle

import pytest

from vyre_driver.errors import BackendError
from vyre_reference.errors import DataRace, DivergentBarrier, EvaluationError, OutOfFuel, UndefinedBehaviour

TEXTS = [
    (
        UndefinedBehaviour("raw_div(1, 0) on u32 has no meaning", 3, where="body[2]"),
        "E1101",
        "body[2]: invocation 3: raw_div(1, 0) on u32 has no meaning. ",
        "Fix: correct the legalization that claimed the proof",
    ),
    (
        DivergentBarrier(0, "body[1]", 4, "has ended"),
        "E1102",
        "invocation 0 waits at body[1], but invocation 4 has ended. ",
        "Fix: move the barrier or collective to where every invocation of the scope arrives in the same iteration",
    ),
    (
        DataRace("out", 5, (0, "writes", "body[0]"), (2, "reads", "body[1]")),
        "E1103",
        "out[5]: invocation 0 writes at body[0] and invocation 2 reads at body[1], with no barrier between them. ",
        "Fix: put a barrier between the two, make both atomic, or give each invocation an element of its own",
    ),
    (
        OutOfFuel(100),
        "E1104",
        "the budget of 100 steps is spent. ",
        "Fix: raise the budget, or evaluate a smaller launch",
    ),
]


@pytest.mark.parametrize(("error", "code", "what", "fix"), TEXTS, ids=[type(row[0]).__name__ for row in TEXTS])
def test_texts_codes_and_pickling(error, code, what, fix):
    assert isinstance(error, EvaluationError)
    assert isinstance(error, BackendError)
    assert (error.code, str(error)) == (code, what + fix)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(again), str(again), dict(again.fields)) == (type(error), what + fix, dict(error.fields))
