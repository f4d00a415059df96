"""Shadowed pipelines and backends. Callers receive the results of the primary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingBackend, DelegatingPipeline, contract_methods
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.results import Inputs, OutputBuffers, Outputs, TimedDispatchResult
from vyre_driver.backend.typed import dispatch_named
from vyre_driver.errors import Trapped
from vyre_driver.observe.shadow import Ended, ResultT, Shadow, Shadowed, ShadowPolicy
from vyre_driver.pipeline.compile import compile
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.backend.typed import Array


class ShadowedPipeline(DelegatingPipeline):
    """A pipeline whose dispatches a reference pipeline repeats.

    `config` is the configuration of both. If the program has persistent memory, the reference runs every dispatch, so
    that its memory stays equal; the policy selects the dispatches that are compared.
    """

    def __init__(
        self,
        primary: CompiledPipeline,
        reference: CompiledPipeline,
        program: Program,
        config: DispatchConfig = DEFAULT_CONFIG,
        policy: ShadowPolicy | None = None,
        *,
        shadow: Shadow | None = None,
        version: str = "",
    ) -> None:
        super().__init__(primary)
        self.reference, self.program, self.config = reference, program, config
        self.shadow = Shadow(policy) if shadow is None else shadow
        self._what = Shadowed(
            program=program,
            primary=primary.id().partition(":")[0],
            primary_version=version,
            reference=reference.id().partition(":")[0],
            run_reference=reference.dispatch,
        )

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """Dispatch on the primary, and compare its outputs with those of the reference."""
        return self._watch(inputs, config, lambda: self.inner.dispatch(inputs, config), _themselves)

    def dispatch_arrays(self, arrays: Mapping[str, object], config: DispatchConfig | None = None) -> dict[str, Array]:
        """See `dispatch`. Arguments and results are arrays by buffer name."""
        return dispatch_named(self.program, arrays, lambda inputs: self.dispatch(inputs, config))

    def dispatch_async(self, inputs: Inputs, config: DispatchConfig | None = None) -> PendingDispatch:
        """Begin a dispatch on the primary; the comparison is made when its outputs are awaited."""
        judge = self.shadow.begin(self._what, inputs, self.config if config is None else config)
        return ShadowedPending(self.inner.dispatch_async(inputs, config), judge)

    def dispatch_timed(self, inputs: Inputs, config: DispatchConfig | None = None) -> TimedDispatchResult:
        """See `dispatch`; the times are those of the primary alone."""
        return self._watch(inputs, config, lambda: self.inner.dispatch_timed(inputs, config), _outputs_of)

    def dispatch_into(self, inputs: Inputs, config: DispatchConfig | None, outputs: OutputBuffers) -> None:
        """See `dispatch`; the outputs are compared in the buffers of the caller."""
        self._watch(inputs, config, lambda: self.inner.dispatch_into(inputs, config, outputs), lambda _: outputs)

    def dispatch_batched(self, batch: Sequence[Inputs], config: DispatchConfig | None = None) -> list[Outputs]:
        """Dispatch one after another. Each dispatch is compared."""
        return [self.dispatch(inputs, config) for inputs in batch]

    def dispatch_batched_into(
        self, batch: Sequence[Inputs], config: DispatchConfig | None, outputs: list[OutputBuffers]
    ) -> None:
        """Dispatch one after another into buffers of the caller. Each dispatch is compared."""
        CompiledPipeline.dispatch_batched_into(self, batch, config, outputs)

    def close(self) -> None:
        """Close both pipelines, primary and reference."""
        self.inner.close()
        self.reference.close()

    def _watch(
        self,
        inputs: Inputs,
        config: DispatchConfig | None,
        run: Callable[[], ResultT],
        outputs_of: Callable[[ResultT], Sequence[Any]],
    ) -> ResultT:
        chosen = self.config if config is None else config
        return self.shadow.watch(self._what, inputs, chosen, run, outputs_of)


class ShadowedBackend(DelegatingBackend, contract=1, checked=False):
    """A backend whose dispatches, and those of its pipelines, a reference backend repeats."""

    def __init__(self, primary: VyreBackend, reference: VyreBackend, policy: ShadowPolicy | None = None) -> None:
        super().__init__(primary)
        self.reference, self.shadow = reference, Shadow(policy)

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Dispatch on the primary, and compare its outputs with those of the reference."""
        return self._watch(self.inner.dispatch, program, inputs, config)

    def dispatch_borrowed(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """See `dispatch`; the caller may change the inputs once the call has returned."""
        return self._watch(self.inner.dispatch_borrowed, program, inputs, config)

    def dispatch_borrowed_timed(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        """See `dispatch_borrowed`; the times are those of the primary alone."""
        run, plain = self.inner.dispatch_borrowed_timed, unwatched(config)
        return self.shadow.watch(self._what(program), inputs, config, lambda: run(program, inputs, plain), _outputs_of)

    def dispatch_borrowed_into(
        self, program: Program, inputs: Inputs, config: DispatchConfig, outputs: OutputBuffers
    ) -> None:
        """See `dispatch_borrowed`; the outputs are compared in the buffers of the caller."""
        run, plain = self.inner.dispatch_borrowed_into, unwatched(config)
        self.shadow.watch(
            self._what(program), inputs, config, lambda: run(program, inputs, plain, outputs), lambda _: outputs
        )

    def dispatch_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        """Begin a dispatch on the primary; the comparison is made when its outputs are awaited."""
        judge = self.shadow.begin(self._what(program), inputs, config)
        return ShadowedPending(self.inner.dispatch_async(program, inputs, unwatched(config)), judge)

    def dispatch_borrowed_async(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> PendingDispatch:
        """See `dispatch_async`; the caller may change the inputs once the call has returned."""
        judge = self.shadow.begin(self._what(program), inputs, config)
        return ShadowedPending(self.inner.dispatch_borrowed_async(program, inputs, unwatched(config)), judge)

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        """Compile on both backends, and return a pipeline whose dispatches are compared."""
        primary = compile(self.inner, program, config)
        reference = compile(self.reference, program, config.replace(timeout=None))
        return ShadowedPipeline(primary, reference, program, config, shadow=self.shadow, version=self.inner.version())

    def compile_native_shared(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        """See `compile_native`."""
        return self.compile_native(program, config)

    def backend_metric_snapshot(self) -> dict[str, int]:
        """Return the counters of the primary and of the shadow."""
        counts = self.shadow.counts
        own = {f"shadow_{name}": getattr(counts, name) for name in type(counts).__slots__}
        return {**self.inner.backend_metric_snapshot(), **own}

    def shutdown(self) -> None:
        """Shut down both backends, primary and reference."""
        self.inner.shutdown()
        self.reference.shutdown()

    def _watch(
        self,
        run: Callable[[Program, Inputs, DispatchConfig], Outputs],
        program: Program,
        inputs: Inputs,
        config: DispatchConfig,
    ) -> Outputs:
        what, plain = self._what(program), unwatched(config)
        return self.shadow.watch(what, inputs, config, lambda: run(program, inputs, plain), _themselves)

    def _what(self, program: Program) -> Shadowed:
        def run_reference(inputs: Inputs, config: DispatchConfig) -> Outputs:
            return self.reference.dispatch(program, inputs, config)

        return Shadowed(
            program=program,
            primary=self.inner.id(),
            primary_version=self.inner.version(),
            reference=self.reference.id(),
            run_reference=run_reference,
        )


class ShadowedPending(PendingDispatch):
    """A pending dispatch that is compared when its outputs are first read."""

    def __init__(self, inner: PendingDispatch, judge: Callable[[Ended], None]) -> None:
        self._inner, self._judge = inner, judge

    def is_ready(self) -> bool:
        """Return whether the primary has ended, without comparing."""
        return self._inner.is_ready()

    def await_result(self, timeout: float | None = None) -> Outputs:
        """Wait for the outputs of the primary, and compare them with those of the reference, once.

        Raises `Trapped` if the primary traps; the reference has to trap as well.
        """
        try:
            outputs = self._inner.await_result(timeout)
        except Trapped as trap:
            self._take_judge()(Ended([], trap))
            raise
        self._take_judge()(Ended(outputs))
        return outputs

    def _take_judge(self) -> Callable[[Ended], None]:
        """The judge for the first caller, None for the others."""
        judge, self._judge = self._judge, lambda ended: None
        return judge


def unwatched(config: DispatchConfig) -> DispatchConfig:
    """Return the configuration without a profile that requests a shadow, for a dispatch that has one."""
    return config.replace(profile=None) if (config.profile or "").startswith("shadow") else config


def _themselves(outputs: Outputs) -> Outputs:
    return outputs


def _outputs_of(result: TimedDispatchResult) -> Outputs:
    return result.outputs


def _passed_by(name: str) -> Callable[..., Any]:
    def method(self: ShadowedBackend | ShadowedPipeline, *args: Any, **named: Any) -> Any:
        self.shadow.pass_by()
        return getattr(self.inner, name)(*args, **named)

    method.__name__ = name
    return method


for _class, _contract in ((ShadowedBackend, VyreBackend), (ShadowedPipeline, CompiledPipeline)):
    for _name in contract_methods(_contract):
        if _name.startswith("dispatch_") and _name not in vars(_class):
            setattr(_class, _name, _passed_by(_name))
