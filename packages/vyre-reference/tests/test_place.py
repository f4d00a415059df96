"""Paths of statements, as texts and in order."""

from __future__ import annotations

from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_reference.place import describe


def test_paths():
    with program("paths", 1) as p:
        out = p.write("out", u32, 1)
        out[0] = 1
        with p.range(0, 2) as k:
            with p.if_(k == 0):
                out[0] = 2
            with p.else_(), p.region("r"):
                out[0] = 3
    body = p.build().body
    paths = [(0,), (1,), (1, 0, 0), (1, 0, 0, 0, 0), (1, 0, 0, 1, 0), (1, 0, 0, 1, 0, 0, 0)]
    assert paths == sorted(paths)
    assert [describe(body, path) for path in paths] == [
        "body[0]",
        "body[1]",
        "body[1].body[0]",
        "body[1].body[0].then[0]",
        "body[1].body[0].orelse[0]",
        "body[1].body[0].orelse[0].body[0]",
    ]
