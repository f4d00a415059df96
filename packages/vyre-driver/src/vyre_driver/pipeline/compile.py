"""Compile once, dispatch often, on any backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingPipeline
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.pipeline import CompiledPipeline, closed_pipeline
from vyre_driver.backend.received import DeclaredOutputs
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import Inputs, OutputBuffers, Outputs, TimedDispatchResult
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.errors import InvalidLaunch, InvalidOutput, UnsupportedFeature
from vyre_driver.plan.admission import used_ops
from vyre_driver.plan.launch import validated
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


def compile(backend: VyreBackend, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
    """The backend's own pipeline, or one that calls `dispatch` every time.

    `InvalidProgram` for a program that is not valid. On a backend without pipelines `UnsupportedFeature` for ops that
    it does not execute, and for persistent buffers, because `dispatch` keeps nothing.
    """
    validated(program)
    native = backend.compile_native(program, config)
    if native is not None:
        return ReceivedPipeline(native, backend.id(), program) if native.checked else native
    missing = sorted(used_ops(program) - backend.supported_ops())
    if missing:
        raise UnsupportedFeature(f"the ops {', '.join(missing)}", backend=backend.id())
    if any(buffer.memory is Memory.PERSISTENT for buffer in program.buffers):
        fix = "choose a backend that compiles, or pass the contents as an input and an output"
        raise UnsupportedFeature("persistent buffers in a pipeline", backend=backend.id(), fix=fix)
    return PassthroughPipeline(backend, program, config)


class ReceivedPipeline(DelegatingPipeline):
    """A pipeline of a backend's own, whose outputs are compared with what the program declares."""

    def __init__(self, inner: CompiledPipeline, backend: str, program: Program) -> None:
        super().__init__(inner)
        self.checked = False
        self._backend, self._program = backend, program

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """The outputs, which are checked."""
        return self._declared(inputs).outputs(self.inner.dispatch(inputs, config))

    def dispatch_timed(self, inputs: Inputs, config: DispatchConfig | None = None) -> TimedDispatchResult:
        """The same with times."""
        return self._declared(inputs).timed(self.inner.dispatch_timed(inputs, config))

    def dispatch_arrays(self, arrays: Mapping[str, object], config: DispatchConfig | None = None) -> dict[str, Array]:
        """The same over arrays by the names of the program's buffers."""
        declared = self._declared(ordered_inputs(self._program, arrays))
        return declared.arrays(self.inner.dispatch_arrays(arrays, config))

    def dispatch_into(self, inputs: Inputs, config: DispatchConfig | None, outputs: OutputBuffers) -> None:
        """The same into slots of the caller."""
        declared = self._declared(inputs)
        self.inner.dispatch_into(inputs, config, outputs)
        declared.outputs(outputs)

    def dispatch_batched(self, batch: Sequence[Inputs], config: DispatchConfig | None = None) -> list[Outputs]:
        """The outputs of each element of `batch`, which are checked."""
        declared = [self._declared(inputs) for inputs in batch]
        found = self.inner.dispatch_batched(batch, config)
        if len(found) != len(batch):
            raise InvalidOutput(
                self._backend, f"the outputs of {len(found)} dispatches, expected those of {len(batch)}"
            )
        return [one.outputs(each) for one, each in zip(declared, found, strict=True)]

    def dispatch_batched_into(
        self, batch: Sequence[Inputs], config: DispatchConfig | None, outputs: list[OutputBuffers]
    ) -> None:
        """The same into slots of the caller."""
        declared = [self._declared(inputs) for inputs in batch]
        self.inner.dispatch_batched_into(batch, config, outputs)
        for one, each in zip(declared, outputs, strict=True):
            one.outputs(each)

    def dispatch_async(self, inputs: Inputs, config: DispatchConfig | None = None) -> PendingDispatch:
        """A dispatch in flight, whose outputs are checked when they are taken."""
        return self._declared(inputs).pending(self.inner.dispatch_async(inputs, config))

    def _declared(self, inputs: Inputs) -> DeclaredOutputs:
        return DeclaredOutputs.of(self._backend, self._program, inputs)


class PassthroughPipeline(CompiledPipeline):
    """A pipeline of a backend that compiles nothing. Its outputs are checked where the backend makes them."""

    checked = False

    def __init__(self, backend: VyreBackend, program: Program, config: DispatchConfig) -> None:
        self._backend, self._program, self._compiled_with = backend, program, config
        self._is_closed = False

    def id(self) -> str:
        """The backend's id, with ``:passthrough`` behind it."""
        return f"{self._backend.id()}:passthrough"

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """Dispatch the program on the backend."""
        return self._backend.dispatch(self._program, inputs, self._config(config))

    def dispatch_arrays(self, arrays: Mapping[str, object], config: DispatchConfig | None = None) -> dict[str, Array]:
        """Dispatch the program on the backend, over arrays by the names of its buffers."""
        return self._backend.dispatch_arrays(self._program, arrays, self._config(config))

    def dispatch_async(self, inputs: Inputs, config: DispatchConfig | None = None) -> PendingDispatch:
        """Begin a dispatch of the program on the backend."""
        return self._backend.dispatch_async(self._program, inputs, self._config(config))

    def dispatch_timed(self, inputs: Inputs, config: DispatchConfig | None = None) -> TimedDispatchResult:
        """Dispatch the program on the backend, which measures it."""
        chosen = self._config(config)
        return self._backend.dispatch_borrowed_timed(self._program, inputs, chosen)

    def dispatch_resident(self, resources: Sequence[Resource], config: DispatchConfig | None = None) -> None:
        """Dispatch the program over resident memory of the backend."""
        self.dispatch_resident_timed(resources, config)

    def dispatch_resident_timed(
        self, resources: Sequence[Resource], config: DispatchConfig | None = None
    ) -> TimedDispatchResult:
        """Dispatch the program over resident memory of the backend, which measures it."""
        chosen = self._config(config)
        return self._backend.dispatch_resident_timed(self._program, resources, chosen)

    def close(self) -> None:
        """Refuse later dispatches, as a pipeline of a backend that compiles does."""
        self._is_closed = True

    def _config(self, given: DispatchConfig | None) -> DispatchConfig:
        """The configuration of one dispatch; `StaleHandle` if the pipeline was closed."""
        if self._is_closed:
            raise closed_pipeline()
        return pipeline_config(self._compiled_with, given)


def pipeline_config(compiled: DispatchConfig, given: DispatchConfig | None) -> DispatchConfig:
    """The configuration of one dispatch of a pipeline; what is compiled in cannot be changed."""
    if given is None or given is compiled:
        return compiled
    for field in ("ulp_budget", "workgroup_override"):
        if getattr(given, field) != getattr(compiled, field):
            needed = f"{getattr(compiled, field)!r}, which the pipeline was compiled with"
            fix = "compile a pipeline with that configuration"
            raise InvalidLaunch(field, needed=needed, got=repr(getattr(given, field)), fix=fix)
    return given
