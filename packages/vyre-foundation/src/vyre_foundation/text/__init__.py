"""The readable form of programs (`.vyre`), printed and parsed without loss. `syntax` shows what it looks like."""

from vyre_foundation.text.errors import TextError
from vyre_foundation.text.parser import parse
from vyre_foundation.text.printer import format_expr, print_program

__all__ = ["TextError", "format_expr", "parse", "print_program"]
