"""The op table: `OPS` maps an id to its row, in the order of the wire tags.

Validator, wire form, constant folding, evaluators, legalizer, emitters, conformance cases and documentation are all
derived from these rows.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from types import MappingProxyType

from vyre_foundation.ops import arithmetic, bitwise, compare, rounding
from vyre_foundation.ops.definition import Laws, Op, Result, Tier, Witness

__all__ = ["OPS", "Laws", "Op", "Result", "Tier", "Witness", "op", "op_of_tag"]

_ROWS = (*arithmetic.ROWS, *bitwise.ROWS, *compare.ROWS, *rounding.ROWS)

OPS: Mapping[str, Op] = MappingProxyType({row.id: row for row in sorted(_ROWS, key=lambda row: row.tag)})

_BY_TAG: Mapping[int, Op] = MappingProxyType({row.tag: row for row in _ROWS})

if len(OPS) != len(_ROWS) or len(_BY_TAG) != len(_ROWS):
    raise AssertionError("two rows of the op table share an id or a tag")


def op(id: str) -> Op:
    """The row called `id` (KeyError if there is none)."""
    return OPS[id]


def op_of_tag(tag: int) -> Op:
    """The row whose wire tag is `tag` (KeyError if there is none)."""
    return _BY_TAG[tag]


copyreg.pickle(Op, lambda row: (op, (row.id,)))
