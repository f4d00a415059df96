"""A program compiled for an open device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import Inputs, OutputBuffers, Outputs, TimedDispatchResult
from vyre_driver.engine.dispatcher import Dispatcher
from vyre_driver.pipeline.compile import pipeline_config
from vyre_driver.pipeline.key import PipelineCacheKey
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


class EnginePipeline(CompiledPipeline):
    """Prepared launches and persistent memory of one program. It ends with `close`, its backend, or its last user."""

    def __init__(
        self, backend: str, program: Program, config: DispatchConfig, key: PipelineCacheKey, dispatcher: Dispatcher
    ) -> None:
        self._backend, self._program, self._config, self._key = backend, program, config, key
        self._dispatcher = dispatcher

    def id(self) -> str:
        return f"{self._backend}:{self._key.digest[:16]}"

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        return self._dispatcher.dispatch(self._program, inputs, pipeline_config(self._config, config))

    def dispatch_timed(self, inputs: Inputs, config: DispatchConfig | None = None) -> TimedDispatchResult:
        chosen = pipeline_config(self._config, config)
        return self._dispatcher.dispatch_borrowed_timed(self._program, inputs, chosen)

    def dispatch_arrays(self, arrays: Mapping[str, object], config: DispatchConfig | None = None) -> dict[str, Array]:
        return self._dispatcher.dispatch_arrays(self._program, arrays, pipeline_config(self._config, config))

    def dispatch_into(self, inputs: Inputs, config: DispatchConfig | None, outputs: OutputBuffers) -> None:
        self._dispatcher.dispatch_borrowed_into(self._program, inputs, pipeline_config(self._config, config), outputs)

    def dispatch_batched(self, batch: Sequence[Inputs], config: DispatchConfig | None = None) -> list[Outputs]:
        """In flight together. A failure, a trap too, is that of the first that failed; those behind it may have run."""
        return self._dispatcher.dispatch_batched(self._program, batch, pipeline_config(self._config, config))

    def dispatch_batched_into(
        self, batch: Sequence[Inputs], config: DispatchConfig | None, outputs: list[OutputBuffers]
    ) -> None:
        chosen = pipeline_config(self._config, config)
        slots = [*outputs[: len(batch)], *([] for _ in range(len(batch) - len(outputs)))]
        self._dispatcher.dispatch_batched_into(self._program, batch, chosen, slots)
        outputs[:] = slots

    def dispatch_async(self, inputs: Inputs, config: DispatchConfig | None = None) -> PendingDispatch:
        chosen = pipeline_config(self._config, config)
        return self._dispatcher.dispatch_async(self._program, inputs, chosen)

    def dispatch_resident(self, resources: Sequence[Resource], config: DispatchConfig | None = None) -> None:
        chosen = self._config if config is None else pipeline_config(self._config, config)
        self._dispatcher.dispatch_resident(self._program, resources, chosen)

    def dispatch_resident_timed(
        self, resources: Sequence[Resource], config: DispatchConfig | None = None
    ) -> TimedDispatchResult:
        chosen = pipeline_config(self._config, config)
        return self._dispatcher.dispatch_resident_timed(self._program, resources, chosen)

    def close(self) -> None:
        self._dispatcher.close()
