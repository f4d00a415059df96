"""A dispatch in flight on a device: its launch has memory of its own until it has landed."""

from __future__ import annotations

import time
import weakref
from typing import Any

from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.results import Outputs
from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Device
from vyre_driver.engine.gate import PAUSE, SLICE, Gate
from vyre_driver.engine.kept import Kept
from vyre_driver.engine.launches import Launches
from vyre_driver.engine.prepared import Prepared
from vyre_driver.engine.request import Request
from vyre_driver.errors import BackendError, DispatchFailed


class Flight(PendingDispatch):
    """See the module. It keeps its inputs, which the device may be reading.

    A failure ends it: every later wait raises it again. An interrupt, or the end of a caller's patience, does not.
    Without a wait, its memory is given up when nobody refers to it any more; the port keeps that until the end of the
    work which uses it.
    """

    def __init__(
        self, gate: Gate, launches: Launches, kept: Kept, launch: Prepared, event: Any, request: Request
    ) -> None:
        self._gate, self._launches, self._kept, self._launch, self._event = gate, launches, kept, launch, event
        self._inputs, self._deadline = request.inputs, request.deadline
        self._outcome: Outputs | BackendError | None = None
        self._dropped = weakref.finalize(self, kept.device.abandon, launch.owned)
        self._dropped.atexit = False

    def is_ready(self) -> bool:
        if self._outcome is not None:
            return True
        if not self._gate.lock.acquire(blocking=False):
            return False
        try:
            device = self._kept.device
            if self._gate.device is not device or self._gate.lost is not None:
                return True
            return self._event is None or device.port.query(self._event)
        except BackendError:  # the wait will raise it
            return True
        finally:
            self._gate.lock.release()

    def await_result(self, timeout: float | None = None) -> Outputs:
        patience = None if timeout is None else Deadline(timeout, self._gate.backend)
        while self._outcome is None:
            self._wait(patience)
        if isinstance(self._outcome, BackendError):
            raise self._outcome
        return self._outcome

    def _wait(self, patience: Deadline | None) -> None:
        """Wait a little, and take the results if they are there."""
        with self._gate.session(patience, self._kept.device, "the pending dispatch") as device:
            if self._outcome is not None:
                return
            try:
                if self._has_landed(device, patience):
                    self._outcome = self._landed(device)
            except BackendError as error:
                self._failed(device, error)
            if self._outcome is not None:
                return
        if patience is not None:
            patience.check("the kernels")
        time.sleep(PAUSE)

    def _has_landed(self, device: Device, patience: Deadline | None) -> bool:
        device.counters.waits += 1
        ends = [deadline.remaining() for deadline in (patience, self._deadline) if deadline is not None]
        longest = min([SLICE, *(seconds for seconds in ends if seconds is not None)])
        if self._event is None or device.port.wait(self._event, longest):
            return True
        if self._deadline is not None and not self._deadline.remaining():
            raise self._deadline.passed("the kernels")
        return False

    def _landed(self, device: Device) -> Outputs:
        self._launches.require_trust()
        try:
            outputs = self._launch.end()
        except BackendError:
            raise
        except BaseException as error:  # some of the outputs may be taken
            self._failed(device, DispatchFailed(f"{type(error).__name__} during readback", backend=self._gate.backend))
            raise
        self._dropped.detach()
        self._launches.ran(device, self._kept)
        self._launches.settle(device, self._kept)
        self._launches.give_back(device, self._kept, self._launch)
        self._inputs = ()
        return outputs

    def _failed(self, device: Device, error: BackendError) -> None:
        self._dropped.detach()
        self._launches.failed(device, self._kept, error, self._launch)
        self._outcome, self._inputs = error, ()
