"""Operations on bits. Shift and rotate counts are taken modulo the width, so every count has a meaning."""

from __future__ import annotations

from vyre_foundation.dtype import INTEGERS, DType, bool_, i8, i32, u8, u32, u64
from vyre_foundation.ops.definition import Laws, Op, Result, Tier, at


def pattern(dtype: DType, x: int) -> int:
    """The bits of x as an unsigned integer."""
    return x & ((1 << dtype.bits) - 1)


def rotate_left(dtype: DType, x: int, count: int) -> int:
    count %= dtype.bits
    return pattern(dtype, x) << count | pattern(dtype, x) >> (dtype.bits - count)


def rotate_right(dtype: DType, x: int, count: int) -> int:
    return rotate_left(dtype, x, -count)


def leading_zeros(dtype: DType, x: int) -> int:
    return dtype.bits - pattern(dtype, x).bit_length()


def trailing_zeros(dtype: DType, x: int) -> int:
    return (x & -x).bit_length() - 1 if x else dtype.bits


def reverse(dtype: DType, x: int) -> int:
    return int(f"{pattern(dtype, x):0{dtype.bits}b}"[::-1], 2)


def counts_below_width(dtype: DType, x: int, count: int) -> bool:
    return 0 <= count < dtype.bits


_SAME = Result.SAME
_BITS = (bool_, *INTEGERS)

# fmt: off
AND = Op("and", 32, 2, _BITS, _SAME, lambda t, x, y: x & y, "bitwise and; logical on bool",
         laws=Laws(commutative=True, associative=True, idempotent=True, identity="ones", absorbing=0),
         witnesses=at(u8, (0xF0, 0x3C, 0x30)) + at(i8, (-1, 5, 5)) + at(bool_, (True, False, False), (True, True, True)))
OR = Op("or", 33, 2, _BITS, _SAME, lambda t, x, y: x | y, "bitwise or; logical on bool",
         laws=Laws(commutative=True, associative=True, idempotent=True, identity=0, absorbing="ones"),
         witnesses=at(u8, (0xF0, 0x0C, 0xFC)) + at(i8, (-128, 1, -127)) + at(bool_, (True, False, True), (False, False, False)))
XOR = Op("xor", 34, 2, _BITS, _SAME, lambda t, x, y: x ^ y, "bitwise exclusive or; logical on bool",
         laws=Laws(commutative=True, associative=True, identity=0, self_inverse=True),
         witnesses=at(u8, (0xFF, 0x0F, 0xF0)) + at(i8, (-1, 1, -2)) + at(bool_, (True, True, False), (True, False, True)))
NOT = Op("not", 35, 1, _BITS, _SAME, lambda t, x: not x if t is bool_ else ~x, "x with every bit flipped; logical on bool",
         laws=Laws(involution=True), witnesses=at(u8, (0, 255)) + at(i32, (0, -1)) + at(bool_, (True, False), (False, True)))
SHL = Op("shl", 36, 2, INTEGERS, _SAME, lambda t, x, count: x << count % t.bits, "x shifted left by count modulo the width",
         laws=Laws(identity=0), witnesses=at(u32, (1, 31, 2**31), (1, 32, 1), (1, 33, 2)) + at(i8, (1, 7, -128), (1, -1, -128)))
SHR = Op("shr", 37, 2, INTEGERS, _SAME, lambda t, x, count: x >> count % t.bits, "x shifted right by count modulo the width; signed types keep the sign",
         laws=Laws(identity=0), witnesses=at(u32, (2**31, 31, 1), (8, 35, 1)) + at(i8, (-128, 7, -1), (-1, 1, -1), (64, 6, 1)))
ROTL = Op("rotl", 38, 2, INTEGERS, _SAME, rotate_left, "x with its bits rotated left by count modulo the width",
         laws=Laws(identity=0), witnesses=at(u32, (0x80000001, 1, 3), (5, 32, 5)) + at(i8, (-128, 1, 1)))
ROTR = Op("rotr", 39, 2, INTEGERS, _SAME, rotate_right, "x with its bits rotated right by count modulo the width",
         laws=Laws(identity=0), witnesses=at(u32, (3, 1, 0x80000001), (5, 32, 5)) + at(i8, (1, 1, -128)))
POPCOUNT = Op("popcount", 40, 1, INTEGERS, _SAME, lambda t, x: pattern(t, x).bit_count(), "the number of set bits of x",
         witnesses=at(u32, (0xFFFF_FFFF, 32), (0, 0)) + at(i8, (-1, 8)) + at(u64, (2**63 + 1, 2)))
CLZ = Op("clz", 41, 1, INTEGERS, _SAME, leading_zeros, "the number of zero bits above the highest set bit; the width for 0",
         witnesses=at(u32, (0, 32), (1, 31), (2**31, 0)) + at(i8, (-1, 0), (0, 8)) + at(u64, (1, 63)))
CTZ = Op("ctz", 42, 1, INTEGERS, _SAME, trailing_zeros, "the number of zero bits below the lowest set bit; the width for 0",
         witnesses=at(u32, (0, 32), (1, 0), (2**31, 31)) + at(i8, (-128, 7), (0, 8)) + at(u64, (2**63, 63)))
REVERSE_BITS = Op("reverse_bits", 43, 1, INTEGERS, _SAME, reverse, "x with its bits in reverse order",
         laws=Laws(involution=True), witnesses=at(u32, (1, 2**31), (0xF000_0000, 0xF)) + at(i8, (1, -128), (-1, -1)))

RAW_SHL = Op("raw_shl", 132, 2, INTEGERS, _SAME, lambda t, x, count: x << count % t.bits, "x << count where count is below the width", tier=Tier.RAW,
         precondition=counts_below_width, witnesses=at(u32, (1, 31, 2**31)))
RAW_SHR = Op("raw_shr", 133, 2, INTEGERS, _SAME, lambda t, x, count: x >> count % t.bits, "x >> count where count is below the width", tier=Tier.RAW,
         precondition=counts_below_width, witnesses=at(i32, (-4, 1, -2)))
# fmt: on

ROWS = (
    *(AND, OR, XOR, NOT, SHL, SHR, ROTL, ROTR, POPCOUNT, CLZ, CTZ, REVERSE_BITS),
    *(RAW_SHL, RAW_SHR),
)
