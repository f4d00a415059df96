"""The words that a kernel gets beside its buffers: element counts, each one u32, in the order of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vyre_driver.errors import InvalidInput
from vyre_driver.plan.lengths import MAX_LENGTH


def dispatch_param_words(names: Sequence[str], lengths: Mapping[str, int]) -> tuple[int, ...]:
    """The counts of the buffers `names`; `InvalidInput` for one that is not known, or that is no u32."""
    words: list[int] = []
    dispatch_param_words_into(names, lengths, words)
    return tuple(words)


def dispatch_param_words_into(names: Sequence[str], lengths: Mapping[str, int], words: list[int]) -> None:
    """The same, behind what `words` holds; on an error nothing is added."""
    found = [lengths.get(name, -1) for name in names]
    for name, count in zip(names, found, strict=True):
        if not 0 <= count <= MAX_LENGTH:
            got = "no element count" if count < 0 else f"{count} elements"
            raise InvalidInput(name, needed=f"a length of at most {MAX_LENGTH} elements", got=got)
    words.extend(found)
