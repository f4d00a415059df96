"""What a device has proven and how fast its spellings are, stored for later processes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from vyre_driver.checked import read_json
from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
from vyre_driver.pipeline.stamp import source_stamp
from vyre_driver.pipeline.store import shared_store
from vyre_driver.tune.candidate import TunedVariant, Variant
from vyre_driver_opencl import proof
from vyre_driver_opencl._version import __version__
from vyre_driver_opencl.dialect import dialect_of
from vyre_driver_opencl.identity import device_identity
from vyre_driver_opencl.needs import Group, Need, groups_of
from vyre_driver_opencl.probe import Proven, Reported, assumed
from vyre_foundation.dtype import DType, dtype
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp

if TYPE_CHECKING:
    from vyre_driver_opencl.proof.bench import ProbeDevice


class DeviceFacts:
    """What is known of one device in this process, and in the store. It grows by what programs use.

    Programs are printed with `dialect`, which is made of `proven`; rows that nothing has used yet are not proven in it.
    """

    def __init__(self, backend: str, device: cl.Device, reported: Reported) -> None:
        self._backend, self._reported = backend, reported
        self._store = DeviceSignatureTable(shared_store())
        stamp = source_stamp("vyre_foundation", "vyre_driver_opencl")
        questions = (__version__, stamp, sorted(reported.extensions), reported.options)
        self._signature = DeviceSignature(device_identity(backend, device), repr(questions))
        first = assumed(reported)
        self._provable: frozenset[Need] = frozenset([*first.ops, *first.casts, *first.floats, *groups_of(reported)])
        self._take(self._store.get(self._signature, from_bytes) or first)

    def show(self, bench: Callable[[], ProbeDevice], wanted: AbstractSet[Need] | None = None) -> bool:
        """Prove on the bench what is wanted and not shown yet; None: everything. Whether the table is as before.

        `BackendUnavailable` for a device that does not compute f32 exactly.
        """
        before, needs = self.proven, self._provable if wanted is None else self._provable & wanted
        if needs <= before.shown:
            return True
        self._learn(lambda: proof.prove_device(self._backend, bench(), self._reported, before, needs))
        return replace(self.proven, shown=before.shown) == before

    def measure(self, bench: ProbeDevice) -> None:
        """Prove every candidate and time the exact ones; the table has the fastest of each row from now on."""

        def find() -> Proven:
            proven = proof.examine_device(self._backend, bench, self._reported, self._provable)
            return proof.choose(bench, dialect_of(self._backend, self._reported, proven), proven)

        self._learn(find)

    def _take(self, proven: Proven) -> None:
        self.proven, self.dialect = proven, dialect_of(self._backend, self._reported, proven)

    def _learn(self, find: Callable[[], Proven]) -> None:
        started = time.perf_counter_ns()
        found = find()
        if found != self.proven:
            self._take(found)
            self._store.put(self._signature, to_bytes(found), time.perf_counter_ns() - started)


def to_bytes(proven: Proven) -> bytes:
    """The proofs as bytes; the order of the rows is kept."""
    return json.dumps(
        {
            "floats": [str(t) for t in proven.floats],
            "ops": [[op, str(t), text] for (op, t), text in proven.ops.items()],
            "casts": [[str(a), str(b), text] for (a, b), text in proven.casts.items()],
            "atomics": [[op.value, str(t), text] for (op, t), text in proven.atomics.items()],
            "atomic_stores": [[str(t), text] for t, text in proven.atomic_stores.items()],
            "subgroup_sizes": sorted(proven.subgroup_sizes),
            "collectives": [[op.value, str(t), text] for (op, t), text in proven.collectives.items()],
            "plain_pointers": proven.plain_pointers,
            "shown": sorted(map(_need_text, proven.shown)),
            "candidates": [
                [c.variant.op, str(c.variant.operand), c.variant.text, c.wrong, c.picoseconds, c.is_chosen]
                for c in proven.candidates
            ],
        }
    ).encode()


def from_bytes(data: bytes) -> Proven:
    """The proofs that `to_bytes` wrote; ValueError, LookupError or TypeError for other bytes."""
    rows = read_json(data)
    return Proven(
        floats=tuple(dtype(name) for name in rows["floats"]),
        ops=_table(rows["ops"], str),
        casts=_table(rows["casts"], dtype),
        atomics=_table(rows["atomics"], AtomicOp),
        atomic_stores={dtype(t): text for t, text in rows["atomic_stores"]},
        subgroup_sizes=frozenset(rows["subgroup_sizes"]),
        collectives=_table(rows["collectives"], SubgroupOp),
        plain_pointers=bool(rows["plain_pointers"]),
        shown=frozenset(map(_need, rows["shown"])),
        candidates=tuple(
            TunedVariant(Variant(op, dtype(t), text), wrong, picoseconds, bool(is_chosen))
            for op, t, text, wrong, picoseconds, is_chosen in rows["candidates"]
        ),
    )


def _table(rows: Iterable[tuple[str, str, str]], key: Callable[[str], Any]) -> dict[tuple[Any, DType], str]:
    return {(key(first), dtype(t)): text for first, t, text in rows}


def _need_text(need: Need) -> str:
    match need:
        case Group():
            return f"group:{need.value}"
        case (DType() as source, target):
            return f"cast:{source}:{target}"
        case (op, operand):
            return f"op:{op}:{operand}"
        case _:
            return f"type:{need}"


def _need(text: str) -> Need:
    match text.split(":"):
        case ["group", name]:
            return Group(name)
        case ["cast", source, target]:
            return dtype(source), dtype(target)
        case ["op", op, operand]:
            return op, dtype(operand)
        case ["type", name]:
            return dtype(name)
    raise ValueError(f"{text!r} is no need")
