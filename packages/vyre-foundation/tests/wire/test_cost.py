"""Encoding and decoding take time and memory in proportion to the program, and nothing recurses over expressions.

Nothing here looks at a clock: it counts the bytecode instructions that run and the bytes that are allocated.
"""

import tracemalloc
from collections.abc import Callable

import pytest

from vyre_foundation import Program, WireError, decode, encode, fingerprint
from vyre_foundation.dtype import u8, u32
from vyre_foundation.ir import Access, Apply, Buffer, Expr, Id, IdKind, Let, Literal, Load, Local, Memory, Store
from vyre_foundation.ops import OPS
from vyre_foundation.wire.varint import write_column

OUT = Buffer("out", u32, Access.WRITE, Memory.STORAGE, 4, 0)
IN = Buffer("in", u32, Access.READ, Memory.STORAGE, 4, 1)
I = Id(IdKind.GLOBAL_ID, 0)


def chain(size: int) -> Program:
    """One expression, as deep as it is large; the operands of `add` stand in the other order than the canonical one."""
    e: Expr = Load(IN, I)
    for step in range(size // 2):
        e = Apply(OPS["add"], Literal(u32, step % 97), Apply(OPS["xor"], e, I))
    return Program("chain", (OUT, IN), (64, 1, 1), (Store(OUT, I, e),))


def twins(size: int) -> Program:
    """Two deep operands that differ in their innermost leaf only, so that all of them has to be hashed; in both orders,
    so that one is wrong."""
    first: Expr = Literal(u32, 1)
    second: Expr = Literal(u32, 2)
    for _ in range(size // 4):
        first, second = (Apply(OPS["neg"], Apply(OPS["not"], e)) for e in (first, second))
    both = Apply(OPS["sub"], Apply(OPS["mul"], second, first), Apply(OPS["add"], first, second))
    return Program("twins", (OUT,), (64, 1, 1), (Store(OUT, I, both),))


def shared(size: int) -> Program:
    """A tower in which everything is used twice."""
    e: Expr = I
    for step in range(size // 3):
        e = Apply(OPS["xor"], Apply(OPS["mul"], e, e), Apply(OPS["add"], e, Literal(u32, step)))
    return Program("shared", (OUT,), (64, 1, 1), (Store(OUT, I, e),))


def flat(size: int) -> Program:
    """Many statements over many locals and buffers."""
    count = size // 4
    tables = tuple(Buffer(f"t{n}", u8, Access.READ, Memory.CONSTANT, 1, data=bytes([n % 256])) for n in range(count))
    lets = (Let(f"x{n}", Load(table, Local(f"x{n - 1}", u32) if n else I)) for n, table in enumerate(tables))
    return Program("flat", tables, (64, 1, 1), tuple(lets))


SHAPES = pytest.mark.parametrize("shape", [chain, twins, shared, flat])


@SHAPES
def test_time_is_linear(shape: Callable[[int], Program], instructions: Callable[..., int]) -> None:
    small, large = shape(200), shape(800)
    small_data, large_data = encode(small), encode(large)
    for operation in (encode, fingerprint):
        assert instructions(lambda f=operation: f(large)) < 4.4 * instructions(lambda f=operation: f(small))
    assert instructions(lambda: decode(large_data)) < 4.4 * instructions(lambda: decode(small_data))


@SHAPES
def test_forty_thousand_expressions(shape: Callable[[int], Program]) -> None:
    program = shape(40_000)
    data = encode(program)
    assert decode(data) == program
    assert decode(data).fingerprint() == fingerprint(program)


def peak(data: bytes) -> int:
    """The most bytes that decoding `data` has allocated at one time, whether it gives a program or not."""
    tracemalloc.start()
    try:
        decode(data)
    except WireError:
        pass
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most


PER_BYTE = 600
"""Bytes of objects for a byte of the wire form. The costliest byte is a token: it makes an expression with its tuple of
operands, its key and its places in lists and tables."""


@SHAPES
def test_memory_is_in_proportion_to_the_bytes(shape: Callable[[int], Program]) -> None:
    data = encode(shape(5_000))
    # The table of expressions, which other tests have filled, may be copied into a larger one in one of the decodings.
    assert min(peak(data) for _ in range(3)) < PER_BYTE * len(data)


START = b"\x01\x01p\x00\x01\x01\x01\x00\x00\x00"
HUGE = write_column([2**62])


@pytest.mark.parametrize("size", [100, 100_000])
@pytest.mark.parametrize(
    "prefix",
    [
        HUGE,  # strings
        b"\x01" + HUGE,  # the bytes of a string
        START[:8] + HUGE + b"\x00",  # buffers
        START + HUGE,  # tokens
        START + b"\x00" + HUGE,  # statements
        START + b"\x02\xd0\xc9" + b"\x04\x00" + HUGE,  # operands of a call
        START[:8] + b"\x01\x00\x05\x01\x0d\x01\xff\xff\xff\xff\x0f",  # 2**35 bytes of data
    ],
)
@pytest.mark.parametrize("filler", [b"\x00", b"\x01", b"\x80", b"\xc0", b"\xd0", b"\xff"])
def test_counts_allocate_nothing(size: int, prefix: bytes, filler: bytes, seal: Callable[[bytes], bytes]) -> None:
    data = seal(prefix + filler * size)
    assert peak(data) < 20_000 + PER_BYTE * len(data)
