"""The lesser and the greater. For floats a NaN loses, so `min(x, max(x, y))` need not be x."""

from __future__ import annotations

from vyre_foundation.optimize.rules.rule import FLOAT, INTEGER, rule
from vyre_foundation.optimize.rules.term import greatest, least, x, y

# fmt: off
RULES = (
    rule(INTEGER, least(x, y),                 x,                 x <= y),
    rule(INTEGER, greatest(x, y),              y,                 x <= y),
    rule(INTEGER, least(x, greatest(x, y)),    x),
    rule(INTEGER, greatest(x, least(x, y)),    x),
    rule(FLOAT,   least(-x, -y),               -greatest(x, y)),
    rule(FLOAT,   greatest(-x, -y),            -least(x, y)),
)
# fmt: on
