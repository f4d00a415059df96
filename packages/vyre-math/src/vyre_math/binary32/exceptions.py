"""The few inputs whose result lies nearer to the middle between two neighbours than the error of the f64 computation.

Found by checking every input; each is a comparison and a selection.
"""

from __future__ import annotations

from collections.abc import Mapping

from vyre_foundation import Value, constant, f32, select, u32


def corrected(x: Value, y: Value, results: Mapping[int, int]) -> Value:
    """`y`, but for the inputs of which `results` has the bits, the f32 of the bits that it gives."""
    bits = x.bitcast(u32)
    for pattern, result in results.items():
        y = select(bits == pattern, constant(u32, result).bitcast(f32), y)
    return y
