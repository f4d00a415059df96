"""The arguments of a kernel beside its buffers: element counts as u32, in the order of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vyre_driver.errors import InvalidInput
from vyre_driver.plan.lengths import MAX_LENGTH


def dispatch_param_words(names: Sequence[str], lengths: Mapping[str, int]) -> tuple[int, ...]:
    """Return the element counts of the buffers `names`, or raise `InvalidInput` if one is unknown or not a u32."""
    words: list[int] = []
    dispatch_param_words_into(names, lengths, words)
    return tuple(words)


def dispatch_param_words_into(names: Sequence[str], lengths: Mapping[str, int], words: list[int]) -> None:
    """Append the element counts of the buffers `names` to `words`. If an error is raised, nothing is added."""
    found = [lengths.get(name, -1) for name in names]
    for name, count in zip(names, found, strict=True):
        if not 0 <= count <= MAX_LENGTH:
            got = "no element count" if count < 0 else f"{count} elements"
            raise InvalidInput(name, needed=f"a length of at most {MAX_LENGTH} elements", got=got)
    words.extend(found)
