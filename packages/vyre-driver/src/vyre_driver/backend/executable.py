"""Whatever runs one program."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs


@runtime_checkable
class Executable(Protocol):
    """From borrowed host bytes in binding order to host bytes that are the caller's. Every compiled pipeline is one."""

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """Run the program over `inputs`; a `config` of None is the one that the program was prepared with."""
