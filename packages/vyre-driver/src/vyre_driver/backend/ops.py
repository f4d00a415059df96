"""The ops of the language, which a complete backend executes."""

from __future__ import annotations

from functools import cache

from vyre_foundation.ops import OPS, Tier


@cache
def core_supported_ops() -> frozenset[str]:
    """Return the ids of all ops of the language.

    Ops of dialects are expanded to these. Raw ops are not included: they exist only after legalization.
    """
    return frozenset(id for id, op in OPS.items() if op.tier is Tier.LANGUAGE)
