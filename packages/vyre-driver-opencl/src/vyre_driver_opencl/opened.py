"""An open device: the first candidate that computes what it must, with its proofs and its spelling table."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vyre_driver.errors import BackendError, BackendUnavailable
from vyre_driver.lower.dialect import CDialect
from vyre_driver_opencl.api import cl
from vyre_driver_opencl.devices import Candidate, candidates, require_linker, siblings
from vyre_driver_opencl.dialect import dialect_of
from vyre_driver_opencl.errors import translated
from vyre_driver_opencl.facts import prove_once
from vyre_driver_opencl.host_cpu import name_host_cpu
from vyre_driver_opencl.probe import Proven, Reported, report
from vyre_driver_opencl.spelling import prelude
from vyre_driver_opencl.withheld import withholding
from vyre_foundation.record import record

if TYPE_CHECKING:
    from vyre_driver_opencl.proof.bench import Bench


@record(frozen=True, slots=True, eq=False)
class OpenedDevice:
    """A device with a context of its own, and what is known about it.

    `queues` are the ways to run its code, each a device to OpenCL: `device` itself, and before it those with fewer
    workers.
    """

    device: cl.Device
    queues: tuple[cl.Device, ...]
    context: cl.Context
    reported: Reported
    proven: Proven
    dialect: CDialect


def open_device(backend: str) -> OpenedDevice:
    """The best device of this backend that works, or `BackendUnavailable` with the reason for each that does not."""
    reasons = []
    found = candidates(backend)
    for candidate in found:
        try:
            return _open(backend, candidate, siblings(candidate, found))
        except BackendError as error:
            reasons.append((f"{candidate}: {error.message}", error.fix))
    refused = "; ".join(reason for reason, _ in reasons)
    raise BackendUnavailable(backend, f"no device can be used ({refused})", fix=reasons[0][1])


def _open(backend: str, candidate: Candidate, together: Sequence[Candidate]) -> OpenedDevice:
    """Open `together`, in which `candidate` is. One compiler makes the code of all, so the first proves for all."""
    require_linker(backend, candidate)
    queues = tuple(sibling.device for sibling in together)
    device = queues[-1]
    with translated(backend), _lock:
        for one in queues:
            name_host_cpu(one)
        with withholding(device):
            context = cl.Context(list(queues))
        reported = report(device)

        def bench() -> Bench:
            from vyre_driver_opencl.proof.bench import Bench  # not needed by those whose store has the facts

            queue = cl.CommandQueue(context, queues[0])
            return Bench(context, queue, prelude(reported.extensions), reported.options)

        if device.int_ptr not in _proven:
            _proven[device.int_ptr] = prove_once(backend, device, reported, bench)
    proven = _proven[device.int_ptr]
    return OpenedDevice(device, queues, context, reported, proven, dialect_of(backend, reported, proven))


_lock = threading.Lock()
_proven: dict[int, Proven] = {}
"""Proofs by device, for the life of the process: a device does not change."""
