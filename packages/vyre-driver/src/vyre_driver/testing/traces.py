"""A check of trace files against the rules of the trace-event format, which viewers rely on."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

PHASES = {"X", "M", "s", "f"}
"""Complete spans, metadata, and the two ends of arrows."""


def require_trace_events(document: dict[str, Any]) -> None:
    """Check a document against the trace-event format: fields and types by phase, nesting by thread, pairs of flows."""
    assert document["displayTimeUnit"] in ("ms", "ns")
    rows: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    named: set[tuple[int, int]] = set()
    flows: dict[int, set[str]] = defaultdict(set)
    for event in document["traceEvents"]:
        assert event["ph"] in PHASES
        assert isinstance(event["name"], str)
        assert event["name"]
        assert type(event["pid"]) is int
        assert type(event["tid"]) is int
        assert isinstance(event["ts"], (int, float))
        if event["ph"] == "X":
            assert isinstance(event["dur"], (int, float))
            assert event["dur"] >= 0
            assert isinstance(event["args"], dict)
            begin = round(event["ts"] * 1000)
            rows[event["pid"], event["tid"]].append((begin, begin + round(event["dur"] * 1000)))
        elif event["ph"] == "M":
            if event["name"] == "thread_name":
                named.add((event["pid"], event["tid"]))
                assert isinstance(event["args"]["name"], str)
        else:
            assert event["cat"]
            flows[event["id"]].add(event["ph"])
            assert event["ph"] == "s" or event["bp"] == "e"
    assert rows.keys() <= named
    assert all("s" in phases for phases in flows.values())
    for spans in rows.values():
        open_ends: list[int] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], "spans of a thread overlap without being nested"
            open_ends.append(end)
