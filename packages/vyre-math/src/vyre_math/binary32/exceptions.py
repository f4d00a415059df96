"""The few inputs whose result lies nearer to the middle between two neighbours than the error of the f64 computation.

Found by checking every input. The f64 is then rounded to the wrong one of the two, so the right result is one unit in
the last place away. That is added as a number: a chain of selections would become a switch in some compilers, and a
loop around a switch is no vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from vyre_foundation import Value, f32, u32


def corrected(x: Value, y: Value, steps: Mapping[int, int]) -> Value:
    """`y`, whose bits are stepped up or down by one for the inputs with the bits that `steps` names."""
    bits = x.bitcast(u32)
    moves = [(bits == pattern).cast(u32) * (step % 2**32) for pattern, step in steps.items()]
    return reduce(lambda total, move: total + move, moves, y.bitcast(u32)).bitcast(f32)
