"""Elementary functions with the same bits on every backend: correctly rounded for f32.

    from vyre_math import exp, sin

    out[i] = exp(x[i]) * sin(x[i])

Each records a call of an op of the dialect `math`, a composition of exact operations of the language, in f64 and
integers. So a device needs f64 to run them. Operands are values of f32, f64, f16 or bf16; angles are in radians.
"""

from functools import partial

from vyre_foundation import call
from vyre_foundation.build.functions import make_function
from vyre_math.described import DESCRIPTIONS, docstring

__version__ = "0.1.0"

globals().update(
    {
        name: make_function(__name__, name, described.parameters, partial(call, f"math.{name}"), docstring(name))
        for name, described in DESCRIPTIONS.items()
    }
)

__all__ = sorted(DESCRIPTIONS)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
