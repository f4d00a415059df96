"""The readable form of programs (`.vyre`), printed and parsed without loss."""

from vyre_foundation.text.printer import format_expr, print_program

__all__ = ["format_expr", "print_program"]
