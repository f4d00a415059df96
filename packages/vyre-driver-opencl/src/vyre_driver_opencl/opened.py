"""An open device: the first candidate that computes what it must, with its proofs and its spelling table."""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyopencl as cl

from vyre_driver.codegen.dialect import CDialect
from vyre_driver.errors import BackendUnavailable
from vyre_driver_opencl import proof
from vyre_driver_opencl.devices import Candidate, devices, first_usable, require_compiler, siblings
from vyre_driver_opencl.errors import translated
from vyre_driver_opencl.facts import DeviceFacts
from vyre_driver_opencl.needs import Group, Need
from vyre_driver_opencl.probe import Proven, Reported, report
from vyre_driver_opencl.quirks.compiler_options import withholding
from vyre_driver_opencl.spelling import prelude
from vyre_foundation.dtype import f32
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    from vyre_driver_opencl.proof.bench import ProbeDevice


@dataclass(frozen=True, slots=True, eq=False)
class OpenedDevice:
    """A device with a context of its own, and what is known about it.

    `queues` are the ways to run its code, each a device to OpenCL: `device` itself, and before it those with fewer
    workers. `facts` are shared by everything that has opened the device.
    """

    backend: str
    device: cl.Device
    queues: tuple[cl.Device, ...]
    context: cl.Context
    reported: Reported
    facts: DeviceFacts

    @property
    def proven(self) -> Proven:
        """The spelling table of now, in which `show` may change what nothing has used yet."""
        return self.facts.proven

    @property
    def dialect(self) -> CDialect:
        """The same as the emitter takes it."""
        return self.facts.dialect

    def show(self, wanted: AbstractSet[Need] | None = None) -> bool:
        """Have the device prove what is wanted, None: everything. Whether the spelling table is as before."""
        with translated(self.backend), _guard.lock:
            return self.facts.show(self.bench, wanted)

    def measure(self) -> None:
        """Prove and time every candidate; the spelling table has the fastest exact ones from now on."""
        with translated(self.backend), _guard.lock:
            self.facts.measure(self.bench())

    def bench(self) -> ProbeDevice:
        """Where something more can be proven of the device."""
        queue = cl.CommandQueue(self.context, self.queues[0])
        return proof.ProbeDevice(self.context, queue, prelude(self.reported.extensions), self.reported.options)


def open_device(backend: str, device: int | None = None) -> OpenedDevice:
    """The best device of this backend that works, or `BackendUnavailable` with the reason for each that does not.

    With an index it is that device or none.
    """
    if device is not None:
        found = devices(backend)
        if device >= len(found):
            reason = f"it has {len(found)} devices now, and none with the index {device}"
            raise BackendUnavailable(backend, reason, fix="list them again with `vyre devices`")
        return _open(backend, found[device][-1], found[device])
    return first_usable(backend, lambda candidate, found: _open(backend, candidate, siblings(candidate, found)))


def _open(backend: str, candidate: Candidate, siblings: Sequence[Candidate]) -> OpenedDevice:
    """Open `siblings`, in which `candidate` is. One compiler makes the code of all, so the first proves for all."""
    require_compiler(backend, candidate)
    queues = tuple(sibling.device for sibling in siblings)
    device = queues[-1]
    with translated(backend), _guard.lock:
        with withholding(device):
            context = cl.Context(list(queues))
        reported = report(device)
        if device.int_ptr not in _facts:
            _facts[device.int_ptr] = DeviceFacts(backend, device, reported)
    opened = OpenedDevice(backend, device, queues, context, reported, _facts[device.int_ptr])
    opened.show({f32, Group.POINTERS})
    return opened


_guard = ForkGuard()
_facts: dict[int, DeviceFacts] = {}
"""By device, for the life of the process: a device does not change."""
