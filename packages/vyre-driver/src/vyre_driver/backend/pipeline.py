"""The frozen contract of a program that is compiled for one backend."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pending import PendingDispatch, ReadyPending
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import (
    Inputs,
    OutputBuffers,
    Outputs,
    TimedDispatchResult,
    replace_output_buffers_preserving_slots,
)
from vyre_driver.errors import StaleHandle, UnsupportedFeature

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


@dataclass(frozen=True, slots=True)
class PipelineCacheSnapshot:
    """The hits and misses of the cache of compiled code since the backend was opened."""

    hits: int
    misses: int


def closed_pipeline() -> StaleHandle:
    """The error of a dispatch of a pipeline that was closed."""
    return StaleHandle("the pipeline", "it was closed", fix="compile the program again")


class CompiledPipeline(ABC):
    """A program that is compiled for one backend.

    Its results are bit for bit those of `VyreBackend.dispatch` with the same program, inputs and configuration. The
    only exception are persistent buffers, which keep their contents and lengths from one dispatch to the next. In all
    methods, `config` is by default the one with which the program was compiled. Another `config` must have the same
    `ulp_budget` and `workgroup_override`, which are compiled in.

    `checked` is False if the outputs come from a launch plan. The outputs of other pipelines that `compile` returns are
    checked in every dispatch against the declarations of the program (`InvalidOutput`).
    """

    checked: bool = True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id()!r}>"

    # ── dispatch ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def id(self) -> str:
        """Return the id of the backend, a colon, and a part that distinguishes this pipeline from others."""

    @abstractmethod
    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """Run the program over host memory, as `VyreBackend.dispatch`."""

    def dispatch_arrays(self, arrays: Mapping[str, object], config: DispatchConfig | None = None) -> dict[str, Array]:
        """Run the program over arrays by buffer name, as `VyreBackend.dispatch_arrays`."""
        raise UnsupportedFeature("arrays by name in a pipeline", backend=self.id())

    def dispatch_timed(self, inputs: Inputs, config: DispatchConfig | None = None) -> TimedDispatchResult:
        """Run the program as `dispatch`, and measure it, by default only on the host."""
        started = time.perf_counter_ns()
        outputs = self.dispatch(inputs, config)
        return TimedDispatchResult(outputs=outputs, wall_ns=time.perf_counter_ns() - started)

    def dispatch_into(self, inputs: Inputs, config: DispatchConfig | None, outputs: OutputBuffers) -> None:
        """Run the program, and store the outputs as `VyreBackend.dispatch_borrowed_into`."""
        replace_output_buffers_preserving_slots(outputs, self.dispatch(inputs, config))

    def dispatch_batched(self, batch: Sequence[Inputs], config: DispatchConfig | None = None) -> list[Outputs]:
        """Run the program once for each element of `batch`, in order, and return the outputs of each."""
        return [self.dispatch(inputs, config) for inputs in batch]

    def dispatch_batched_into(
        self, batch: Sequence[Inputs], config: DispatchConfig | None, outputs: list[OutputBuffers]
    ) -> None:
        """Run the program as `dispatch_batched`, and store the outputs in a list of buffers for each element.

        Missing lists are added to `outputs`, and surplus lists are removed.
        """
        del outputs[len(batch) :]
        outputs.extend([] for _ in range(len(batch) - len(outputs)))
        for inputs, slots in zip(batch, outputs, strict=True):
            self.dispatch_into(inputs, config, slots)

    def dispatch_async(self, inputs: Inputs, config: DispatchConfig | None = None) -> PendingDispatch:
        """Submit a dispatch. `inputs` may not change before it has ended, which by default is when the call returns."""
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
        """Run the program as `dispatch_resident`, and return the times, without outputs."""
        started = time.perf_counter_ns()
        self.dispatch_resident(resources, config)
        return TimedDispatchResult(outputs=[], wall_ns=time.perf_counter_ns() - started)

    # ── lifecycle ────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:  # noqa: B027 - nothing is kept by default
        """Free what the pipeline keeps on the device; from then on its dispatches raise `StaleHandle`.

        Dispatches that were submitted before give their outputs. A second call does nothing.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
