"""What a device has proven, kept from one process to the next: proofs take a compiler and about a second."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from vyre_driver.pipeline.facts import device_facts, recall
from vyre_driver.pipeline.stamp import source_stamp
from vyre_driver.pipeline.store import shared_store
from vyre_driver_opencl import __version__
from vyre_driver_opencl.api import cl
from vyre_driver_opencl.identity import device_identity
from vyre_driver_opencl.probe import Proven, Reported
from vyre_foundation.dtype import DType, dtype
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp


def prove_once(backend: str, device: cl.Device, reported: Reported, prove: Callable[[], Proven]) -> Proven:
    """What `prove` found in an earlier process with the same device, runtime and candidates, or finds now."""
    stamp = source_stamp("vyre_foundation", "vyre_driver_opencl")
    questions = (__version__, stamp, sorted(reported.extensions), reported.options)
    identity = device_facts(device_identity(backend, device), repr(questions))
    return recall(shared_store(), identity, prove, write=to_bytes, read=from_bytes)


def to_bytes(proven: Proven) -> bytes:
    """The proofs as bytes; the order of the rows is kept."""
    return json.dumps(
        {
            "floats": [str(t) for t in proven.floats],
            "ops": [[op, str(t), text] for (op, t), text in proven.ops.items()],
            "casts": [[str(a), str(b), text] for (a, b), text in proven.casts.items()],
            "atomics": [[op.value, str(t), text] for (op, t), text in proven.atomics.items()],
            "subgroup_sizes": sorted(proven.subgroup_sizes),
            "collectives": [[op.value, str(t), text] for (op, t), text in proven.collectives.items()],
        }
    ).encode()


def from_bytes(data: bytes) -> Proven:
    """The proofs that `to_bytes` wrote; ValueError, LookupError or TypeError for other bytes."""
    rows = json.loads(data)
    return Proven(
        floats=tuple(dtype(name) for name in rows["floats"]),
        ops=_table(rows["ops"], str),
        casts=_table(rows["casts"], dtype),
        atomics=_table(rows["atomics"], AtomicOp),
        subgroup_sizes=frozenset(rows["subgroup_sizes"]),
        collectives=_table(rows["collectives"], SubgroupOp),
    )


def _table(rows: Iterable[tuple[str, str, str]], key: Callable[[str], Any]) -> dict[tuple[Any, DType], str]:
    return {(key(first), dtype(t)): text for first, t, text in rows}
