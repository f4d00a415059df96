"""Numbers of the text: most have no type of their own and take that of the place where they stand."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vyre_foundation.dtype import DType, f32, u32
from vyre_foundation.errors import LiteralOutOfRange
from vyre_foundation.ir.expr import Literal, literal
from vyre_foundation.text.tokens import MAX_DIGITS, Token, TokenKind


@dataclass(frozen=True, slots=True)
class UntypedNumber:
    """A number without a type: digits, `inf` or `nan`; `payload` holds the bits of a ``nan(0x…)``."""

    token: Token
    negative: bool = False
    payload: int | None = None

    @property
    def is_hexadecimal(self) -> bool:
        """Whether it begins with ``0x``."""
        return self.token.text[:2] in ("0x", "0X")

    @property
    def is_float(self) -> bool:
        """Whether it can only be a float."""
        return self.token.kind is TokenKind.WORD or not (self.token.text.isdigit() or self.is_hexadecimal)

    @property
    def default(self) -> DType:
        """The type it has where nothing else decides."""
        return f32 if self.is_float else u32

    def literal(self, dtype: DType) -> Literal:
        """The literal of type `dtype`, or `LiteralOutOfRange`."""
        if dtype.is_float:
            return self._float(dtype)
        if self.is_float or dtype.bits == 1:
            raise LiteralOutOfRange(f"{self.token} is not a value of {dtype}", fix=f"write a value of {dtype}, or cast")
        if len(self.token.text) > MAX_DIGITS:
            raise LiteralOutOfRange(f"{self.token} is not a value of {dtype}", fix=f"write up to {MAX_DIGITS} digits")
        try:
            value = int(self.token.text, 0)
        except ValueError as error:
            raise LiteralOutOfRange(
                f"{self.token} cannot be read: {error}", fix="write it without leading zeros"
            ) from None
        return literal(dtype, -value if self.negative else value)

    def _float(self, dtype: DType) -> Literal:
        if self.payload is not None:
            pattern = Literal(dtype, self.payload)
            if not math.isnan(pattern.value):
                raise LiteralOutOfRange(
                    f"{self.payload:#x} are not the bits of a NaN of {dtype}", fix="write its value"
                )
            return pattern
        if self.is_hexadecimal:
            raise LiteralOutOfRange(f"{self.token} is not a value of {dtype}", fix="write a decimal number")
        value = float(self.token.text)
        if math.isinf(value) and self.token.kind is TokenKind.NUMBER:
            raise LiteralOutOfRange(f"{self.token} is above every float", fix="write `inf`")
        return literal(dtype, -value if self.negative else value)
