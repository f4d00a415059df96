"""What a device has proven, kept from one process to the next: proofs take a compiler and about a second."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
from vyre_driver.pipeline.stamp import source_stamp
from vyre_driver.pipeline.store import shared_store
from vyre_driver.tune.candidate import Candidate, Variant
from vyre_driver_opencl import __version__
from vyre_driver_opencl.api import cl
from vyre_driver_opencl.dialect import dialect_of
from vyre_driver_opencl.identity import device_identity
from vyre_driver_opencl.probe import Proven, Reported
from vyre_foundation.dtype import DType, dtype
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp

if TYPE_CHECKING:
    from vyre_driver_opencl.proof.bench import Bench


def prove_once(backend: str, device: cl.Device, reported: Reported, bench: Callable[[], Bench]) -> Proven:
    """What an earlier process found out about the same device with the same runtime and candidates, or this one does on
    a bench.

    Spellings are timed only where what is found is kept: it takes a second.
    """
    known = DeviceSignatureTable(shared_store())

    def find() -> Proven:
        from vyre_driver_opencl.proof.device import prove_device  # not needed by those whose store has the facts

        if not known.keeps:
            return prove_device(backend, bench(), reported)
        from vyre_driver_opencl.choice import choose  # it also lowers and prints

        where = bench()
        proven = prove_device(backend, where, reported, thorough=True)
        return choose(where, dialect_of(backend, reported, proven), proven)

    stamp = source_stamp("vyre_foundation", "vyre_driver_opencl")
    questions = (__version__, stamp, sorted(reported.extensions), reported.options)
    signature = DeviceSignature(device_identity(backend, device), repr(questions))
    return known.recall(signature, find, write=to_bytes, read=from_bytes)


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
            "plain_pointers": proven.plain_pointers,
            "candidates": [
                [c.variant.op, str(c.variant.operand), c.variant.text, c.wrong, c.picoseconds, c.is_chosen]
                for c in proven.candidates
            ],
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
        plain_pointers=bool(rows["plain_pointers"]),
        candidates=tuple(
            Candidate(Variant(op, dtype(t), text), wrong, picoseconds, bool(is_chosen))
            for op, t, text, wrong, picoseconds, is_chosen in rows["candidates"]
        ),
    )


def _table(rows: Iterable[tuple[str, str, str]], key: Callable[[str], Any]) -> dict[tuple[Any, DType], str]:
    return {(key(first), dtype(t)): text for first, t, text in rows}
