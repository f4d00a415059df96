"""What every part of the demo has: a program, its inputs, and an independent answer to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vyre_driver import DispatchConfig
from vyre_foundation import Program

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Job:
    """One piece of real work.

    `oracle` computes the outputs by other means (`oracle_name`). `finish` may make a file of them.
    """

    name: str
    program: Program
    inputs: Mapping[str, Array]
    oracle_name: str
    oracle: Callable[[], Mapping[str, Array]]
    config: DispatchConfig = field(default_factory=DispatchConfig)
    finish: Callable[[Mapping[str, Array]], str] | None = None

    @property
    def input_bytes(self) -> int:
        """The size of all inputs, which rates are computed from."""
        return sum(a.nbytes for a in self.inputs.values())
