"""What is known of a device's own elementary functions: measured once, kept with the device's identity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from vyre_driver import policy
from vyre_driver.checked import read_json
from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
from vyre_foundation.dtype import DType

if TYPE_CHECKING:
    from vyre_driver.policy.native import Measured, NativeVerdict


Native = tuple[str, DType]
"""An op of a dialect and the type of its operand."""


class Natives:
    """The functions of one open device. `spelled` are its texts: another text is another function."""

    def __init__(self, spelled: Mapping[Native, str], device: tuple[str, ...], known: DeviceSignatureTable) -> None:
        self.spelled = spelled
        self._device, self._known = device, known
        self._measured: dict[Native, Measured | None] = {}

    def taken(self, ulp_budget: int) -> frozenset[Native]:
        """The functions that the device's own stand in for under this budget."""
        if ulp_budget == 0:
            return frozenset()
        return frozenset(native for native in self.spelled if self.verdict(native, ulp_budget).is_native)

    def verdict(self, native: Native, ulp_budget: int) -> NativeVerdict:
        """Whether the device's own function is taken, and why."""
        return policy.native.judge_native(self.measured(native), ulp_budget)

    def measured(self, native: Native) -> Measured | None:
        """What a process has measured and kept, or this one."""
        if native not in self._measured:
            self._measured[native] = self._known.get(
                self._signature(native), lambda cached: policy.native.Measured(**read_json(cached))
            )
        return self._measured[native]

    def keep(self, native: Native, measured: Measured) -> None:
        """Know this of a function from now on, and in later processes."""
        self._measured[native] = measured
        self._known.put(self._signature(native), json.dumps(asdict(measured)).encode())

    def forget(self, native: Native) -> None:
        """Know nothing of a function, so that it can be measured again."""
        self._measured[native] = None

    def _signature(self, native: Native) -> DeviceSignature:
        op, dtype = native
        return DeviceSignature(self._device, f"the error of {op} of {dtype} as {self.spelled[native]}")
