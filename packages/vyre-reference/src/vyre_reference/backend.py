"""The reference as a backend: the whole language, without a device, at the speed of an interpreter."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from types import MappingProxyType

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.results import Inputs, Outputs
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.resident import HostMemoryBackend, HostMemoryPipeline
from vyre_driver.pipeline.compile import pipeline_config
from vyre_driver.plan.admission import admit_program
from vyre_driver.plan.launch import validated, with_workgroup_size
from vyre_driver.plan.lengths import bind_inputs
from vyre_foundation.cached import cached_property
from vyre_foundation.ir.program import Program
from vyre_foundation.locks import ForkGuard
from vyre_foundation.validate.limits import MAX_WORKGROUP_SIZE, MAX_WORKGROUP_VOLUME
from vyre_reference import scalar, vector
from vyre_reference._version import __version__
from vyre_reference.launch import Evaluator, launch


class Evaluation(Enum):
    """Which evaluator a reference backend runs, and the id that it has then."""

    VECTOR = "reference"
    SCALAR = "reference-scalar"


EVALUATORS = MappingProxyType({Evaluation.VECTOR: vector.evaluate, Evaluation.SCALAR: scalar.evaluate})


class ReferenceBackend(HostMemoryBackend, contract=1, checked=False):
    """Evaluates programs on the host.

    It emits nothing and has no device, so it claims no device's mechanism; its resident memory is the host's. Every
    `ulp_budget` is honoured, because elementary functions are exact; a timeout is met at every statement.
    """

    def __init__(self, evaluation: Evaluation = Evaluation.VECTOR) -> None:
        self._id = evaluation.value
        self._evaluate: Evaluator = EVALUATORS[evaluation]
        super().__init__()

    def id(self) -> str:
        return self._id

    def version(self) -> str:
        return __version__

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return self._launch(program, inputs, config, None)

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        """A pipeline that owns persistent buffers and nothing else."""
        facts = validated(with_workgroup_size(program, config.workgroup_override))
        admit_program(facts, config, self.device_profile())
        return ReferencePipeline(self, program, config)

    def _launch(
        self, program: Program, inputs: Inputs, config: DispatchConfig, persistent: dict[str, bytearray] | None
    ) -> Outputs:
        facts = validated(with_workgroup_size(program, config.workgroup_override))
        admit_program(facts, config, self.device_profile())
        return launch(
            program, bind_inputs(program, inputs), config, self._evaluate, backend=self._id, persistent=persistent
        )

    # ── capabilities: what the evaluators do themselves ──

    def supports_grid_sync(self) -> bool:
        """All workgroups of a launch wait for each other."""
        return True

    def max_workgroup_size(self) -> Extent:
        return MAX_WORKGROUP_SIZE

    def max_compute_invocations_per_workgroup(self) -> int:
        return MAX_WORKGROUP_VOLUME

    def max_compute_workgroups_per_dimension(self) -> int:
        return 2**32 - 1

    def device_profile(self) -> DeviceProfile:
        return self._profile

    @cached_property
    def _profile(self) -> DeviceProfile:
        """Made once: every dispatch asks for it."""
        return replace(
            super().device_profile(),
            device="host interpreter",
            supports_f64=True,
            supports_int64=True,
            supports_atomic64=True,
            supports_trap_propagation=True,
            max_native_int_width=64,
        )


class ReferencePipeline(HostMemoryPipeline):
    """A program with its persistent memory. Dispatches of one pipeline run one after another."""

    checked = False
    _backend: ReferenceBackend

    def __init__(self, backend: ReferenceBackend, program: Program, config: DispatchConfig) -> None:
        super().__init__(backend, program, config)
        self._persistent: dict[str, bytearray] = {}
        self._guard = ForkGuard()

    def close(self) -> None:
        super().close()
        with self._guard.lock:
            self._persistent.clear()

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        with self._guard.lock:
            self._require_open()
            return self._backend._launch(self._program, inputs, pipeline_config(self._config, config), self._persistent)
