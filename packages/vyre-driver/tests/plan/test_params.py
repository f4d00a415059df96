"""The words beside the buffers: counts in order, or an error with nothing added."""

import pytest

from vyre_driver.compat import try_dispatch_param_words, try_dispatch_param_words_into
from vyre_driver.errors import InvalidInput
from vyre_driver.plan.params import (
    dispatch_param_words,
    dispatch_param_words_into,
)

LENGTHS = {"a": 5, "b": 0, "c": 2**32 - 1, "d": 2**32}


def test_words_are_the_counts_in_the_order_of_the_names() -> None:
    assert dispatch_param_words(("c", "a", "b"), LENGTHS) == (2**32 - 1, 5, 0)
    assert dispatch_param_words((), LENGTHS) == ()
    words = [7]
    dispatch_param_words_into(("a",), LENGTHS, words)
    assert words == [7, 5]


@pytest.mark.parametrize(("name", "got"), [("x", "no element count"), ("d", "4294967296 elements")])
def test_what_is_no_word_adds_nothing(name: str, got: str) -> None:
    words = [7]
    with pytest.raises(InvalidInput, match=f"argument '{name}': got {got}"):
        dispatch_param_words_into(("a", name), LENGTHS, words)
    assert words == [7]


def test_failures_raise_under_every_name() -> None:
    with pytest.raises(InvalidInput):
        try_dispatch_param_words(("x",), LENGTHS)
    with pytest.raises(InvalidInput):
        try_dispatch_param_words_into(("x",), LENGTHS, [])
