"""Every op of the language as a Python function on values: ``sqrt(x)``, ``fma(x, y, z)``, ``min(x, 3)``.

The names are the ids of the op table; Python's keywords get an underscore. Numbers take the type of the values beside
them, and at least one operand must be a value.

The functions are made from the table. Type checkers read ``functions.pyi``, which a test compares with them.
"""

from keyword import iskeyword

from vyre_foundation.build.functions import op_function
from vyre_foundation.ops import OPS, Tier

_rows = {f"{id}_" if iskeyword(id) else id: row for id, row in OPS.items() if row.tier is Tier.LANGUAGE}
globals().update({name: op_function(__name__, name, row) for name, row in _rows.items()})

__all__ = sorted(_rows)
