"""The frozen contract of a program that is compiled for one backend."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pending import ReadyPending
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import (
    Inputs,
    OutputBuffers,
    Outputs,
    TimedDispatchResult,
    replace_output_buffers_preserving_slots,
)
from vyre_driver.errors import UnsupportedFeature

if TYPE_CHECKING:
    from vyre_driver.backend.pending import PendingDispatch
    from vyre_driver.backend.typed import Array


@dataclass(frozen=True, slots=True)
class PipelineCacheSnapshot:
    """How often compiled code was found, and how often it had to be made, since the backend began."""

    hits: int
    misses: int


class CompiledPipeline(ABC):
    """A program that needs no further compilation.

    Its results are those of `VyreBackend.dispatch` with the same program, inputs and configuration, bit for bit, except
    that persistent buffers keep their contents, and hence their lengths, from one dispatch to the next. A `config` of
    None is the one it was compiled with; another may not differ in `ulp_budget` and `workgroup_override`, which are
    compiled in.

    `checked` is False where a launch plan makes the outputs. Those of other pipelines are compared with what programs
    declare, in every dispatch of what `compile` gives: `InvalidOutput`.
    """

    checked: bool = True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id()!r}>"

    # ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def id(self) -> str:
        """The backend's id, a colon, and what tells this pipeline from others."""

    @abstractmethod
    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """Run the program over `inputs`."""

    def dispatch_arrays(self, arrays: Mapping[str, object], config: DispatchConfig | None = None) -> dict[str, Array]:
        """As `dispatch`, from arrays by buffer name to arrays by buffer name; see `VyreBackend.dispatch_arrays`."""
        raise UnsupportedFeature("arrays by name in a pipeline", backend=self.id())

    def dispatch_timed(self, inputs: Inputs, config: DispatchConfig | None = None) -> TimedDispatchResult:
        """As `dispatch`, with times: here the host's clock alone."""
        started = time.perf_counter_ns()
        outputs = self.dispatch(inputs, config)
        return TimedDispatchResult(outputs=outputs, wall_ns=time.perf_counter_ns() - started)

    def dispatch_into(self, inputs: Inputs, config: DispatchConfig | None, outputs: OutputBuffers) -> None:
        """As `dispatch`, into slots of the caller."""
        replace_output_buffers_preserving_slots(outputs, self.dispatch(inputs, config))

    def dispatch_batched(self, batch: Sequence[Inputs], config: DispatchConfig | None = None) -> list[Outputs]:
        """One dispatch for each element of `batch`, in order."""
        return [self.dispatch(inputs, config) for inputs in batch]

    def dispatch_batched_into(
        self, batch: Sequence[Inputs], config: DispatchConfig | None, outputs: list[OutputBuffers]
    ) -> None:
        """As `dispatch_batched`, into one list of slots for each element; surplus lists are dropped."""
        del outputs[len(batch) :]
        outputs.extend([] for _ in range(len(batch) - len(outputs)))
        for inputs, slots in zip(batch, outputs, strict=True):
            self.dispatch_into(inputs, config, slots)

    def dispatch_async(self, inputs: Inputs, config: DispatchConfig | None = None) -> PendingDispatch:
        """Begin a dispatch; `inputs` may not change before it has ended. Here it also ends."""
        return ReadyPending(self.dispatch(inputs, config))

    # ── resident resources ───────────────────────────────────────────────────────────────────────────────────────────

    def dispatch_resident(self, resources: Sequence[Resource], config: DispatchConfig | None = None) -> None:
        """Run the program over resident resources, one for each input and output in binding order.

        It may return before the work has ended, as `VyreBackend.dispatch_resident`.
        """
        raise UnsupportedFeature("resident dispatch of a pipeline", backend=self.id())

    def dispatch_resident_timed(
        self, resources: Sequence[Resource], config: DispatchConfig | None = None
    ) -> TimedDispatchResult:
        """As `dispatch_resident`, with times and no outputs."""
        started = time.perf_counter_ns()
        self.dispatch_resident(resources, config)
        return TimedDispatchResult(outputs=[], wall_ns=time.perf_counter_ns() - started)

    # ── lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:  # noqa: B027 - nothing is kept by default
        """Give back what the pipeline keeps on the device. Calling it again does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
