"""How ops are written where people read and write them: in the text form and in rules."""

from types import MappingProxyType

ATOM, UNARY, COMPARE = 10, 9, 2

# fmt: off
INFIX = MappingProxyType({
    "mul": ("*",  8), "div": ("/",  8), "rem": ("%",  8),
    "add": ("+",  7), "sub": ("-",  7),
    "shl": ("<<", 6), "shr": (">>", 6),
    "and": ("&",  5), "xor": ("^",  4), "or":  ("|",  3),
    "eq":  ("==", COMPARE), "ne": ("!=", COMPARE), "lt": ("<", COMPARE),
    "le":  ("<=", COMPARE), "gt": (">",  COMPARE), "ge": (">=", COMPARE),
})
"""Op id → its sign and how tightly it binds. All group to the left, but comparisons do not group at all."""
# fmt: on
