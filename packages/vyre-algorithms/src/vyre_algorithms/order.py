"""The order of keys: unsigned integers that are ordered as the elements of any type are.

Integers are ordered by value, and floats in the total order of IEEE 754: negative NaNs, −∞, …, −0, +0, …, +∞, positive
NaNs. Keys are the bits of the elements, so no bit of an element changes on its way.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from vyre_algorithms.arguments import Array, HostArray
from vyre_foundation import DType, Value, constant
from vyre_foundation.dtype import bool_, u8
from vyre_foundation.functions import not_


class KeyOrder(Enum):
    """How the bits of elements are ordered."""

    UNSIGNED = "unsigned"
    SIGNED = "signed"
    FLOAT = "float"

    __hash__ = object.__hash__  # members are single objects, and every call looks its program up by one

    @classmethod
    def of(cls, dtype: DType) -> KeyOrder:
        """The order of the elements of a type."""
        return cls.FLOAT if dtype.is_float else cls.SIGNED if dtype.is_signed else cls.UNSIGNED

    def key(self, bits: Value, *, descending: bool = False, bias: Value | None = None) -> Value:
        """The key of an element with these bits, which are of an unsigned type.

        `bias`, a power of 2, is added to signed integers so that none is negative; by default it is the sign bit.
        """
        sign = constant(bits.dtype, 1 << (bits.dtype.bits - 1))
        if self is KeyOrder.SIGNED:
            bits = bits ^ sign if bias is None else bits + bias
        elif self is KeyOrder.FLOAT:
            bits = bits ^ (_signs(bits) | sign)
        return not_(bits) if descending else bits

    def bits(self, key: Value, *, descending: bool = False) -> Value:
        """The bits of the element with a key."""
        sign = constant(key.dtype, 1 << (key.dtype.bits - 1))
        key = not_(key) if descending else key
        if self is KeyOrder.SIGNED:
            return key ^ sign
        if self is KeyOrder.FLOAT:
            return key ^ (_signs(not_(key)) | sign)
        return key


def _signs(bits: Value) -> Value:
    """All bits set if the highest is. Compilers make branches of selections, and signs are hard to predict."""
    return 0 - (bits >> (bits.dtype.bits - 1))


class KeyType(NamedTuple):
    """What a sort compares: elements with these bits, of an unsigned type, in an order or in its reverse."""

    bits: DType
    order: KeyOrder
    descending: bool = False

    @classmethod
    def of(cls, dtype: DType, *, descending: bool = False) -> KeyType:
        """The keys of the elements of a type."""
        return cls(bits_type(dtype), KeyOrder.of(dtype), descending)

    def key(self, bits: Value, *, bias: Value | None = None) -> Value:
        """The key of an element with these bits, as `KeyOrder.key`."""
        return self.order.key(bits, descending=self.descending, bias=bias)

    def element(self, key: Value) -> Value:
        """The bits of the element with a key."""
        return self.order.bits(key, descending=self.descending)

    def host_keys(self, bits: HostArray) -> HostArray:
        """The keys of elements of the host with these bits."""
        unsigned = bits.dtype.type
        sign = unsigned(1 << (self.bits.bits - 1))
        if self.order is KeyOrder.SIGNED:
            bits = bits ^ sign
        elif self.order is KeyOrder.FLOAT:
            bits = bits ^ np.where(bits >= sign, unsigned(self.bits.highest), sign)
        return ~bits if self.descending else bits


def bits_type(dtype: DType) -> DType:
    """The unsigned type that holds the bits of a type."""
    return u8 if dtype is bool_ else dtype.unsigned


def bits_of(array: Array, dtype: DType) -> Array:
    """The bits of the elements, without a copy."""
    bits = bits_type(dtype)
    return array if bits is dtype else array.view(bits.numpy)


def of_bits(bits: Array, dtype: DType) -> Array:
    """The elements of a type with these bits, without a copy."""
    return bits if bits_type(dtype) is dtype else bits.view(dtype.numpy)
