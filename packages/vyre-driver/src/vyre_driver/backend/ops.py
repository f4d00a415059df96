"""The ops that a backend of the whole language executes."""

from __future__ import annotations

from functools import cache

from vyre_foundation.ops import OPS, Tier


@cache
def core_supported_ops() -> frozenset[str]:
    """The ids of every op of the language. Ops of dialects expand to these; raw ops exist only after legalization."""
    return frozenset(id for id, op in OPS.items() if op.tier is Tier.LANGUAGE)
