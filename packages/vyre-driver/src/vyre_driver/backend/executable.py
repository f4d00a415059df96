"""The protocol of objects that run one program."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs


@runtime_checkable
class Executable(Protocol):
    """An object that runs one program over host memory. Every compiled pipeline is one."""

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """Run the program over `inputs`. `config` is by default the one with which the program was prepared."""
