"""Counting and reversing bits with sums over ever larger groups of bits."""

from __future__ import annotations

from vyre_driver.legalization.forms.integers import through_unsigned
from vyre_driver.legalization.forms.term import ExprTerm


def popcount(x: ExprTerm) -> ExprTerm:
    """Counts of 2, 4, then 8 bits side by side; the product adds the bytes up in the highest one."""
    if x.dtype.is_signed:
        return through_unsigned("popcount", x)
    width = x.dtype.bits
    x = x - ((x >> 1) & pattern(0x55, width))
    x = (x & pattern(0x33, width)) + ((x >> 2) & pattern(0x33, width))
    x = (x + (x >> 4)) & pattern(0x0F, width)
    return (x * pattern(0x01, width)) >> (width - 8)


def clz(x: ExprTerm) -> ExprTerm:
    """Copy the highest set bit into all bits below it; what is then not set was above it."""
    if x.dtype.is_signed:
        return through_unsigned("clz", x)
    shift = 1
    while shift < x.dtype.bits:
        x = x | (x >> shift)
        shift *= 2
    return (~x).op("popcount")


def ctz(x: ExprTerm) -> ExprTerm:
    """The bits below the lowest set bit are those of ~x & (x - 1), all of them for 0."""
    if x.dtype.is_signed:
        return through_unsigned("ctz", x)
    return (~x & (x - 1)).op("popcount")


def reverse_bits(x: ExprTerm) -> ExprTerm:
    """Swap neighbours of 1, 2, 4 … bits."""
    if x.dtype.is_signed:
        return through_unsigned("reverse_bits", x)
    width = x.dtype.bits
    for group, mask in ((1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0F0F_0F0F), (8, 0x00FF_00FF), (16, 0x0000_FFFF)):
        mask = mask | mask << 32 if width == 64 else mask
        if 2 * group < width:
            x = ((x >> group) & mask) | ((x & mask) << group)
    return (x >> width // 2) | (x << width // 2)


def pattern(byte: int, width: int) -> int:
    """`byte` in every byte of a word."""
    return int.from_bytes(bytes([byte]) * (width // 8), "little")


RULES = {"popcount": popcount, "clz": clz, "ctz": ctz, "reverse_bits": reverse_bits}
