"""A program compiled for an open device."""

from __future__ import annotations

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.results import Inputs, Outputs, TimedDispatchResult
from vyre_driver.engine.dispatcher import Dispatcher
from vyre_driver.pipeline.compile import pipeline_config
from vyre_driver.pipeline.key import PipelineCacheKey
from vyre_foundation.ir.program import Program


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
        return self._dispatcher.dispatch_timed(self._program, inputs, chosen)

    def close(self) -> None:
        self._dispatcher.close()
