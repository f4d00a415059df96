"""Numbers that the programs share with the same work by hand."""

from __future__ import annotations

GROUP = 256
"""Invocations of a workgroup in one dimension."""
KEY = 5
BINS = 256
ROUNDS = 64
"""Of the hash chain."""
EACH = 512
"""Elements that one invocation counts."""
TABLES = 4
"""Of one workgroup that counts."""
RUN = 16
"""Elements in a row that one invocation of the prefix sum takes."""
TILE = 16
"""Side of a tile of the plain matrix product."""
PATTERN = b"abacabad"
