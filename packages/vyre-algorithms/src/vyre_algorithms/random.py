"""Random numbers from counters: a number depends on the key and its place alone, so any part can be made anywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import Array, Backend, array_of, count
from vyre_algorithms.launches import launch, slots_beside, zeros_beside
from vyre_algorithms.move import gather
from vyre_algorithms.sorts import argsort
from vyre_foundation import LengthOf, Program, ProgramBuilder, Value, program, u32
from vyre_foundation.dtype import bool_
from vyre_foundation.functions import mul_high, rotl

GROUP = 64
PHILOX_FACTORS, PHILOX_STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREEFRY_PARITY = 0x1BD11BDA


def philox(key: int, size: int, /, *, counter: int = 0, backend: Backend = None) -> Array:
    """Make random words by Philox4x32-10 (Salmon et al., 2011).

    Args:
        key: Below 2**64; the low word is the first of the key.
        size: The number of words.
        counter: The counter of the first four words, below 2**128; the low word is the first. It rises by one for each
            four words, modulo 2**128.
        backend: As for `vyre.run`.

    Returns:
        An array of uint32 with one axis.

    Raises:
        InvalidInput: An argument is out of range.
    """
    return _words(_philox, key, size, counter, 4, backend)


def threefry(key: int, size: int, /, *, counter: int = 0, backend: Backend = None) -> Array:
    """Make random words by Threefry2x32-20 (Salmon et al., 2011).

    Args:
        key: Below 2**64; the low word is the first of the key.
        size: The number of words.
        counter: The counter of the first two words, below 2**64; the low word is the first. It rises by one for each
            two words, modulo 2**64.
        backend: As for `vyre.run`.

    Returns:
        An array of uint32 with one axis.

    Raises:
        InvalidInput: An argument is out of range.
    """
    return _words(_threefry, key, size, counter, 2, backend)


def shuffle(x: object, key: int, /, *, backend: Backend = None) -> Array:
    """Shuffle the elements of the first axis: in the order of random words, which `philox` makes.

    Args:
        x: An array with one axis or more.
        key: As for `philox`.
        backend: As for `vyre.run`.

    Returns:
        An array like `x`.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    array = array_of(x)
    number = len(array)
    words = _words(_philox, key, 2 * number, 0, 4, backend, array)
    return gather(array, argsort(words.view(np.uint64), backend=backend), backend=backend)


def sample(size: int, k: int, key: int, /, *, backend: Backend = None) -> Array:
    """Draw different numbers below `size`: the first of a shuffle of all.

    Args:
        size: The number to draw from.
        k: How many to draw.
        key: As for `philox`.
        backend: As for `vyre.run`.

    Returns:
        An array of int64 with `k` elements.

    Raises:
        InvalidInput: An argument is out of range.
    """
    number = count(k, "k", count(size, "size"))
    words = philox(key, 2 * size, backend=backend)
    return argsort(words.view(np.uint64), backend=backend)[:number]


Block = Callable[[ProgramBuilder, list[Value], list[Value]], list[Value]]
"""The words of a block, from those of its counter and its key."""


def _words(block: Block, key: int, size: int, counter: int, width: int, backend: Backend, model: Array = None) -> Array:
    """Random words, in the memory where `model` is."""
    number = count(size, "size")
    if not number:
        return zeros_beside(model, (0,), u32)
    blocks = -(-number // width)
    given = {
        "key": _little(count(key, "key", (1 << 64) - 1), 2),
        "counter": _little(count(counter, "counter", (1 << 32 * width) - 1), width),
        "blocks": slots_beside(model, blocks),
    }
    return launch(_generator(block, width), given, -(-blocks // GROUP), backend)["words"][:number]


def _little(number: int, words: int) -> Array:
    return np.frombuffer(number.to_bytes(4 * words, "little"), np.uint32)


@lru_cache(maxsize=4)
def _generator(block: Block, width: int) -> Program:
    with program("random_words", GROUP) as p:
        key, counter = p.uniform("key", u32, 2), p.uniform("counter", u32, width)
        blocks = p.read("blocks", bool_)
        words = p.write("words", u32, LengthOf("blocks", times=width))
        i = p.global_id(0)
        here = [p.let(counter[0] + i)]
        carry = p.let(here[0] < i)
        for n in range(1, width):
            here.append(p.let(counter[n] + carry.cast(u32)))
            carry = p.let(carry & (here[n] == 0))
        with p.if_(i < blocks.length):
            for n, word in enumerate(block(p, here, [key[0], key[1]])):
                words[i * width + n] = word
    return p.build()


def _philox(p: ProgramBuilder, counter: list[Value], key: list[Value]) -> list[Value]:
    for n in range(10):
        low = [p.let(counter[2 * m] * factor) for m, factor in enumerate(PHILOX_FACTORS)]
        high = [p.let(mul_high(counter[2 * m], factor)) for m, factor in enumerate(PHILOX_FACTORS)]
        keys = [word + (n * step & 0xFFFF_FFFF) for word, step in zip(key, PHILOX_STEPS, strict=True)]
        counter = [p.let(high[1] ^ counter[1] ^ keys[0]), low[1], p.let(high[0] ^ counter[3] ^ keys[1]), low[0]]
    return counter


def _threefry(p: ProgramBuilder, counter: list[Value], key: list[Value]) -> list[Value]:
    keys = [*key, p.let(key[0] ^ key[1] ^ THREEFRY_PARITY)]
    x, y = p.let(counter[0] + keys[0]), p.let(counter[1] + keys[1])
    for n in range(5):
        for rotation in THREEFRY_ROTATIONS[n % 2]:
            x = p.let(x + y)
            y = p.let(rotl(y, rotation) ^ x)
        x, y = p.let(x + keys[(n + 1) % 3]), p.let(y + keys[(n + 2) % 3] + (n + 1))
    return [x, y]
