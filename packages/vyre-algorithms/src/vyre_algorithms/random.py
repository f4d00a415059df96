"""Random numbers from counters: a number depends on the key and its place alone, so any part can be made anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import pi, prod

import numpy as np

from vyre_algorithms.arguments import Array, Backend, as_dtype, count, type_of
from vyre_algorithms.launches import launch, runs_loops, slots_beside, words, zeros_beside
from vyre_algorithms.move import take_few, with_axes
from vyre_algorithms.order import KeyType
from vyre_algorithms.short_sorts import sort_serially
from vyre_algorithms.sorts import sort_bits
from vyre_driver.errors import InvalidInput
from vyre_driver.tune.distribution import SERIAL
from vyre_foundation import (
    Array as Buffer,
    DType,
    LengthOf,
    Program,
    ProgramBuilder,
    Value,
    constant,
    program,
    select,
    u32,
)
from vyre_foundation.dtype import bool_, f32, f64, i64, u64
from vyre_foundation.functions import eq, mul_high, ne, rotl, sqrt
from vyre_math import cos, log, sin

GROUP = 64
LISTED = 16
"""Numbers for each one of a sample, at most, that one invocation lists, where a worker runs one after the other."""
PHILOX_FACTORS, PHILOX_STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREEFRY_PARITY = 0x1BD11BDA


def philox(key: int, size: int, *, counter: int = 0, backend: Backend = None) -> Array:
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
    return _made(PHILOX, key, size, counter, backend)


def threefry(key: int, size: int, *, counter: int = 0, backend: Backend = None) -> Array:
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
    return _made(THREEFRY, key, size, counter, backend)


def uniform(
    key: int,
    shape: int | Sequence[int],
    dtype: object = f32,
    *,
    counter: int = 0,
    backend: Backend = None,
) -> Array:
    """Make uniform random numbers in [0, 1): equally likely multiples of 2**-24, or of 2**-53.

    A number of f32 is made of the 24 high bits of a word of `philox`; one of f64 of the 53 high bits of two words, of
    which the first is the low one.

    Args:
        key: As for `philox`.
        shape: The lengths of the axes, or the length of one. The last axis varies fastest.
        dtype: f32 or f64, or NumPy's type.
        counter: As for `philox`: it rises by one for each four numbers of f32, for each two of f64.
        backend: As for `vyre.run`.

    Returns:
        An array of `dtype`.

    Raises:
        InvalidInput: An argument is out of range, or `dtype` is not supported.
    """
    return _shaped(_UNIFORM, key, shape, dtype, counter, backend)


def normal(
    key: int,
    shape: int | Sequence[int],
    dtype: object = f32,
    *,
    counter: int = 0,
    backend: Backend = None,
) -> Array:
    """Make normally distributed random numbers with mean 0 and variance 1 (Box and Muller, 1958).

    Two neighbours are ``r * cos(a)`` and ``r * sin(a)`` with ``r = sqrt(-2 * log(u))``. For f32, with words v and w of
    `philox` as f32, ``u = v * 2**-32 + 2**-33`` and ``a = w * c`` with c the f32 next to ``2π * 2**-32``. For f64, with
    v and w the 53 high bits of two words each, ``u = (v + 1) * 2**-53`` and ``a = w * c`` with c the f64 next to
    ``2π * 2**-53``. Each operation is rounded; the functions are those of `vyre_math`.

    Args:
        key: As for `philox`.
        shape: The lengths of the axes, or the length of one. The last axis varies fastest.
        dtype: f32 or f64, or NumPy's type.
        counter: As for `philox`: it rises by one for each four numbers of f32, for each two of f64.
        backend: As for `vyre.run`. Its device needs f64.

    Returns:
        An array of `dtype`.

    Raises:
        InvalidInput: An argument is out of range, or `dtype` is not supported.
    """
    return _shaped(_NORMAL, key, shape, dtype, counter, backend)


def shuffle(x: object, /, key: int, *, backend: Backend = None) -> Array:
    """Shuffle the elements of the first axis: in the order of random words, which `philox` makes.

    Args:
        x: An array with one axis or more.
        key: As for `philox`.
        backend: As for `vyre.run`.

    Returns:
        An array like `x`.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array, of_key = with_axes(x), _key(key)
    type_of(array)  # which refuses other types
    number = array.shape[0]
    if not number:
        return array.copy()
    if number <= SERIAL and runs_loops([array], backend):
        order = launch(_order(), {"key": of_key, "slots": slots_beside(array, number)}, 1, backend)["order"]
    else:
        words = _made(PHILOX, key, 2 * number, 0, backend, array).view(np.uint64)
        order = sort_bits(words, True, False, number, backend)
    return take_few(array, order, backend)


def sample(size: int, k: int, key: int, *, backend: Backend = None) -> Array:
    """Draw distinct numbers below `size`: the first of them after `k` exchanges (Fisher and Yates, 1938).

    Exchange i, from 0 on, is of the numbers at the places i and ``i + floor(w * (size - i) / 2**64)`` of a list of all
    numbers. w is made of the words 2i and 2i + 1 of `philox`, of which the first is the low one. So a longer sample
    begins with a shorter one.

    Args:
        size: The number to draw from.
        k: The number of draws.
        key: As for `philox`.
        backend: As for `vyre.run`.

    Returns:
        An array of int64 with `k` elements.

    Raises:
        InvalidInput: An argument is out of range.
    """
    number = count(k, "k", count(size, "size"))
    words = _made(PHILOX, key, 2 * number, 0, backend).view(np.uint64)
    if not number:
        return words.astype(np.int64)
    if size <= LISTED * (number + GROUP) and runs_loops([words], backend):
        given = {"words": words, "slots": slots_beside(words, size)}
        return launch(_listed(), given, 1, backend)["numbers"]
    grid = -(-number // GROUP)
    given = {"words": words, "size": np.array([size], np.uint32)}
    places = launch(_places(), given, grid, backend)["places"]
    order = sort_bits(places, True, False, number, backend)
    exchanges = launch(_exchanges(), {"places": places, "order": order}, grid, backend)
    return launch(_numbers(), {"places": places, **exchanges}, grid, backend)["numbers"]


Words = list[Value]


@dataclass(frozen=True, slots=True)
class Generator:
    """`block` makes `width` words of the `width` words of a counter and a key; `finish` makes `elements` of them."""

    block: Callable[[ProgramBuilder, Words, Words], Words]
    width: int
    elements: int
    dtype: DType = u32
    finish: Callable[[ProgramBuilder, Words], Words] | None = None


def _shaped(
    generators: Mapping[DType, Generator],
    key: int,
    shape: int | Sequence[int],
    dtype: object,
    counter: int,
    backend: Backend,
) -> Array:
    """Random numbers of a type in a shape."""
    given = as_dtype(dtype)
    if given not in generators:
        raise InvalidInput("dtype", needed="f32 or f64", got=str(given), fix="pass one of them, and convert")
    lengths = tuple(count(n, "shape") for n in (shape if isinstance(shape, Sequence) else (shape,)))
    return _made(generators[given], key, count(prod(lengths), "shape"), counter, backend).reshape(lengths)


def _made(generator: Generator, key: int, size: int, counter: int, backend: Backend, model: Array = None) -> Array:
    """Random elements, in the memory where `model` is."""
    number, width = count(size, "size"), generator.width
    if not number:
        return zeros_beside(model, (0,), generator.dtype)
    blocks = -(-number // generator.elements)
    given = {
        "key": _key(key),
        "counter": _little(count(counter, "counter", (1 << 32 * width) - 1), width),
        "blocks": slots_beside(model, blocks),
    }
    return launch(_program(generator), given, -(-blocks // GROUP), backend)["out"][:number]


def _key(key: int) -> Array:
    return _little(count(key, "key", (1 << 64) - 1), 2)


def _little(number: int, length: int) -> Array:
    """A number as words, the lowest first."""
    return words(*[number >> 32 * n & 0xFFFF_FFFF for n in range(length)])


@lru_cache(maxsize=8)
def _program(generator: Generator) -> Program:
    width, elements = generator.width, generator.elements
    with program("random", GROUP) as p:
        key, counter = p.uniform("key", u32, 2), p.uniform("counter", u32, width)
        blocks = p.read("blocks", bool_)
        out = p.write("out", generator.dtype, LengthOf("blocks", times=elements))
        i = p.global_id(0)
        here = [p.let(counter[0] + i)]
        carry = p.let(here[0] < i)
        for n in range(1, width):
            here.append(p.let(counter[n] + carry.cast(u32)))
            carry = p.let(carry & (here[n] == 0))
        with p.if_(i < blocks.length):
            found = generator.block(p, here, [key[0], key[1]])
            if generator.finish is not None:
                found = generator.finish(p, found)
            for n, element in enumerate(found):
                out[i * elements + n] = element
    return p.build()


@lru_cache(maxsize=1)
def _order() -> Program:
    """The order of few random words by one invocation, which makes them."""
    with program("random_order", 1) as p:
        slots = p.read("slots", bool_)
        words, order = p.scratch("words", u64, LengthOf("slots")), p.write("order", u32, like=slots)
        key, zero = p.uniform("key", u32, 2), constant(u32, 0)
        with p.range((words.length + 1) >> 1) as i:
            for n, pair in enumerate(_pairs(p, _philox(p, [i, zero, zero, zero], [key[0], key[1]]))):
                words[2 * i + n] = pair  # the last of an odd number is out of bounds
        sort_serially(p, words, order, KeyType.of(u64), has_places=True, length_of="slots")
    return p.build()


@lru_cache(maxsize=1)
def _listed() -> Program:
    """A sample by one invocation, which has the list of all numbers."""
    with program("sample_of_list", 1) as p:
        words, slots = p.read("words", u64), p.read("slots", bool_)
        there, numbers = p.scratch("there", u32, LengthOf("slots")), p.write("numbers", i64, like=words)
        with p.range(slots.length) as i:
            there[i] = i
        with p.range(words.length) as i:
            place = _exchanged(p, i, words, slots.length)
            numbers[i] = there[place].cast(i64)
            there[place] = there[i]
    return p.build()


def _exchanged(p: ProgramBuilder, i: Value, words: Buffer, size: Value) -> Value:
    """The place that an exchange is with."""
    return p.let(i + mul_high(words[i], (size - i).cast(u64)).cast(u32))


# Other samples keep no list of all numbers. The number that an exchange puts first is the one that the last exchange of
# the same place has put there; that was at the place of its own, where an earlier one may have put it; and so on.


@lru_cache(maxsize=1)
def _places() -> Program:
    """The place that each exchange is with."""
    with program("sample_places", GROUP) as p:
        words, size = p.read("words", u64), p.uniform("size", u32, 1)
        places = p.write("places", u32, like=words)
        i = p.global_id(0)
        places[i] = _exchanged(p, i, words, size[0])
    return p.build()


@lru_cache(maxsize=1)
def _exchanges() -> Program:
    """One more than the number of the last exchange before each one of the same place, and of its own place; or 0."""
    with program("sample_exchanges", GROUP) as p:
        places, order = p.read("places", u32), p.read("order", u32)
        of_same, of_own = (p.write(name, u32, like=places) for name in ("of_same", "of_own"))
        i, number = p.global_id(0), places.length
        with p.if_(i < number):
            this, before, after = (p.let(order[at]) for at in (i, i - 1, i + 1))
            place = p.let(places[this])
            has_earlier = (i != 0) & eq(places[before], place)
            earlier = p.let(select(has_earlier, before + 1, constant(u32, 0)))
            of_same[this] = earlier
            is_last = (i + 1 == number) | ne(places[after], place)
            with p.if_(is_last & (place < number)):
                of_own[place] = select(eq(place, this), earlier, this + 1)
    return p.build()


@lru_cache(maxsize=1)
def _numbers() -> Program:
    """The number that each exchange puts first."""
    with program("sample_numbers", GROUP) as p:
        places, of_same, of_own = (p.read(name, u32) for name in ("places", "of_same", "of_own"))
        numbers = p.write("numbers", i64, like=places)
        i = p.global_id(0)
        with p.if_(i < places.length):
            number, earlier = p.var(places[i]), p.var(of_same[i])
            with p.range(places.length):  # each is earlier than the one before
                with p.if_(earlier == 0):
                    p.break_()
                number.set(earlier - 1)
                earlier.set(of_own[number])
            numbers[i] = number.get().cast(i64)
    return p.build()


def _philox(p: ProgramBuilder, counter: Words, key: Words) -> Words:
    for n in range(10):
        low = [p.let(counter[2 * m] * factor) for m, factor in enumerate(PHILOX_FACTORS)]
        high = [p.let(mul_high(counter[2 * m], factor)) for m, factor in enumerate(PHILOX_FACTORS)]
        keys = [word + (n * step & 0xFFFF_FFFF) for word, step in zip(key, PHILOX_STEPS, strict=True)]
        counter = [p.let(high[1] ^ counter[1] ^ keys[0]), low[1], p.let(high[0] ^ counter[3] ^ keys[1]), low[0]]
    return counter


def _threefry(p: ProgramBuilder, counter: Words, key: Words) -> Words:
    keys = [*key, p.let(key[0] ^ key[1] ^ THREEFRY_PARITY)]
    x, y = p.let(counter[0] + keys[0]), p.let(counter[1] + keys[1])
    for n in range(5):
        for rotation in THREEFRY_ROTATIONS[n % 2]:
            x = p.let(x + y)
            y = p.let(rotl(y, rotation) ^ x)
        x, y = p.let(x + keys[(n + 1) % 3]), p.let(y + keys[(n + 2) % 3] + (n + 1))
    return [x, y]


def _pairs(p: ProgramBuilder, words: Words) -> Words:
    """Each two words as u64, of which the first is the low one."""
    pairs = zip(words[::2], words[1::2], strict=True)
    return [p.let(low.cast(u64) | (high.cast(u64) << 32)) for low, high in pairs]


def _doubles(p: ProgramBuilder, words: Words) -> Words:
    """The 53 high bits of each two words, as u64."""
    return [pair >> 11 for pair in _pairs(p, words)]


def _uniform32(p: ProgramBuilder, words: Words) -> Words:
    return [(word >> 8).cast(f32) * 2.0**-24 for word in words]


def _uniform64(p: ProgramBuilder, words: Words) -> Words:
    return [bits.cast(f64) * 2.0**-53 for bits in _doubles(p, words)]


def _normal32(p: ProgramBuilder, words: Words) -> Words:
    found = []
    for v, w in zip(words[::2], words[1::2], strict=True):
        found += _box_muller(p, v.cast(f32) * 2.0**-32 + 2.0**-33, w.cast(f32) * (2 * pi * 2.0**-32))
    return found


def _normal64(p: ProgramBuilder, words: Words) -> Words:
    v, w = _doubles(p, words)
    return _box_muller(p, (v + 1).cast(f64) * 2.0**-53, w.cast(f64) * (2 * pi * 2.0**-53))


def _box_muller(p: ProgramBuilder, share: Value, angle: Value) -> Words:
    radius, angle = p.let(sqrt(-2.0 * log(share))), p.let(angle)
    return [radius * cos(angle), radius * sin(angle)]


PHILOX, THREEFRY = Generator(_philox, 4, 4), Generator(_threefry, 2, 2)
_UNIFORM = {
    f32: replace(PHILOX, dtype=f32, finish=_uniform32),
    f64: replace(PHILOX, dtype=f64, elements=2, finish=_uniform64),
}
_NORMAL = {
    f32: replace(PHILOX, dtype=f32, finish=_normal32),
    f64: replace(PHILOX, dtype=f64, elements=2, finish=_normal64),
}
