"""Faults of admission: a query answers differently than a dispatch, and entry points that skip it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from vyre_conform.controls.engine import in_backend, on_engine
from vyre_conform.controls.fault import Fault, Layer
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingPipeline
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import Resource
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_foundation.ir.program import Program

Right = Callable[..., Any]
ADMISSION = "vyre_driver.plan.admission"


def _demands_unheard(right: Right) -> Right:
    """A query judges the program alone and ignores what the configuration demands."""

    def ask(backend: VyreBackend, program: Any, config: DispatchConfig = DEFAULT_CONFIG) -> Any:
        auto = Preference.AUTO
        return right(backend, program, config.replace(speculation=auto, persistent_thread=auto, cooperative=False))

    return ask


def _grid_unseen(right: Right) -> Right:
    def ask(backend: VyreBackend, program: Any, config: DispatchConfig = DEFAULT_CONFIG) -> Any:
        return right(backend, program, config.replace(grid_override=None))

    return ask


def _nothing_missing(right: Right) -> Right:
    return lambda *given, **named: []


def _handed_on(name: str) -> Callable[[Right], Right]:
    """A gated backend that hands a call on without asking."""

    def wrap(right: Right) -> Right:
        return lambda gated, *given, **named: getattr(gated.inner, name)(*given, **named)

    return wrap


class HostOnlyPipeline(DelegatingPipeline):
    """Refuses resident memory."""

    def dispatch_resident(self, resources: Sequence[Resource], config: DispatchConfig | None = None) -> None:
        raise UnsupportedFeature("resident dispatch of a pipeline", backend=self.id())


class HostOnlyPipelines(EngineBackend, contract=1):
    """Takes resident memory, and compiles pipelines that do not."""

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        return HostOnlyPipeline(super().compile_native(program, config))


def _unread(right: Right) -> Right:
    return lambda *given: None


_fault = partial(Fault, Layer.ENGINE)
GATED = "vyre_driver.policy.enforce:GatedBackend"

# fmt: off
FAULTS = (
    _fault("demands-unheard", "who asks is not told of demands that a dispatch refuses",
           on_engine(f"{ADMISSION}:validate_program_for_backend", _demands_unheard), "claims:admission"),
    _fault("grid-unseen", "who asks is not told of a grid that a dispatch refuses",
           on_engine(f"{ADMISSION}:validate_program_for_backend", _grid_unseen), "claims:admission"),
    _fault("demands-taken", "what is forced and not there is taken silently",
           on_engine(f"{ADMISSION}:missing_features", _nothing_missing), "claims:admission"),
    _fault("gate-precompile", "programs that are compiled together go round a gate",
           on_engine(f"{GATED}.precompile", _handed_on("precompile")), "claims:gates"),
    _fault("gate-compile", "programs that are compiled alone go round a gate",
           on_engine(f"{GATED}.compile_native", _handed_on("compile_native")), "claims:gates"),
    _fault("pipeline-not-resident", "pipelines refuse the resident memory that their backend takes",
           in_backend(HostOnlyPipelines),
           "claims:pipelines_over_memory"),
    _fault("dialects-unread", "code made ahead of time is loaded whatever its dialects are by now",
           on_engine("vyre_driver.pipeline.ahead:CompiledProgram.require_dialects", _unread),
           "claims:changed_dialects"),
)
# fmt: on
