"""A slice of a constant table at an index that is only known on the device, without memory."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation import Value, select


def slice_of(words: Sequence[Value], index: Value, count: int, highest: int) -> list[Value]:
    """``words[index : index + count]`` for ``index <= highest``, by a selection for each bit of the index."""
    step = 1 << highest.bit_length() - 1
    while step:
        is_ahead = (index & step) != 0
        moved = highest - step + count  # words that may be wanted from `step` on
        leading = words[: step - 1 + count]
        words = [select(is_ahead, words[i + step], word) if i < moved else word for i, word in enumerate(leading)]
        highest, step = step - 1, step >> 1
    return list(words)
