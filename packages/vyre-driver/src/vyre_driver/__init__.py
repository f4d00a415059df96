"""The backend contract of vyre: registry, launch planning, legalization, pipelines, policies, scheduling.

Every public name is imported on its first use, so that importing the package costs next to nothing and opens nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vyre_driver.backend.aot import NativeModuleBuilder, PrimaryBinaryBuilder
    from vyre_driver.backend.config import DispatchConfig, Preference
    from vyre_driver.backend.contract import CONTRACT, VyreBackend
    from vyre_driver.backend.executable import Executable
    from vyre_driver.backend.ops import core_supported_ops
    from vyre_driver.backend.pending import PendingDispatch
    from vyre_driver.backend.pipeline import CompiledPipeline, PipelineCacheSnapshot
    from vyre_driver.backend.registration import Availability, BackendRegistration, Selection
    from vyre_driver.backend.resources import (
        DEVICE_BUFFER_FEATURE,
        DeviceBuffer,
        HostShimBuffer,
        ResidentDispatchStep,
        ResidentReadRange,
        Resource,
        default_dispatch_with_device_buffers,
        validate_buffer_ownership,
    )
    from vyre_driver.backend.results import (
        Memory,
        MemoryRef,
        OutputBuffers,
        ResidentSequenceTiming,
        TimedDispatchResult,
        borrowed_input_slices,
        replace_output_buffers_preserving_slots,
    )
    from vyre_driver.backend.typed import TypedDispatchExt
    from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
    from vyre_driver.engine.backend import EngineBackend
    from vyre_driver.engine.port import DevicePort, SourceUnit
    from vyre_driver.errors import (
        BackendError,
        BackendUnavailable,
        BadArtifact,
        BadCapsule,
        ContractMismatch,
        DeviceLost,
        DeviceOutOfMemory,
        DispatchFailed,
        DispatchTimeout,
        DuplicateBackend,
        Error,
        InvalidInput,
        InvalidLaunch,
        InvalidProgram,
        InvalidSetting,
        KernelCompileFailed,
        OutputLimitExceeded,
        PoisonedState,
        PolicyDenied,
        ResidentGraphReuseTelemetryError,
        ShadowDiverged,
        StaleHandle,
        Trapped,
        UnknownBackend,
        UnsupportedFeature,
    )
    from vyre_driver.lower.legalize import legalize
    from vyre_driver.lower.lowered import Lowered
    from vyre_driver.lower.target import SubgroupCaps, SubgroupOp, Target
    from vyre_driver.observe.builds import (
        CompiledPipelineBuild,
        compile_owned,
        compile_owned_with_telemetry,
        compile_shared,
        compile_shared_with_telemetry,
        compile_with_telemetry,
    )
    from vyre_driver.observe.diagnostics import Diagnostic, DiagnosticCode, OpLocation, Severity
    from vyre_driver.observe.evidence import DispatchTimingEvidence, EvidenceArtifact, EvidenceBundle, ReplayEvidence
    from vyre_driver.observe.live import acquire, acquire_preferred_dispatch_backend, compile, compile_many
    from vyre_driver.observe.provenance import (
        SourceProvenance,
        capture_git_info,
        capture_git_info_at,
        source_fingerprint,
        source_tree_fingerprint,
        source_tree_fingerprint_at,
    )
    from vyre_driver.observe.reuse import ResidentGraphReuseTelemetry, ReuseWatch
    from vyre_driver.observe.shadow import DivergenceEvent, OnDivergence, ShadowPolicy
    from vyre_driver.observe.shadowed import ShadowedBackend, ShadowedPipeline
    from vyre_driver.pipeline.ahead import CompiledProgram
    from vyre_driver.pipeline.artifact import NativeModule
    from vyre_driver.pipeline.disk import DiskPipelineCache
    from vyre_driver.pipeline.fingerprint import PipelineDeviceFingerprint, PipelineFeatureFlags, hex_encode, hex_short
    from vyre_driver.pipeline.key import CURRENT_PIPELINE_CACHE_KEY_VERSION, PipelineCacheIdentity, PipelineCacheKey
    from vyre_driver.pipeline.misses import PipelineCacheMissEvidence, PipelineCacheMissReason
    from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
    from vyre_driver.plan.admission import validate_program_for_backend
    from vyre_driver.plan.binding import (
        BackendLayoutClass,
        BackendLayoutFingerprint,
        BackendLayoutSlot,
        Binding,
        BindingPlan,
        BindingRole,
        BindingSetFingerprint,
        binding_plans_share_layout,
        dispatch_element_count,
        dispatch_element_count_for_program,
        element_size_bytes,
    )
    from vyre_driver.plan.indirect import IndirectDispatch, find_indirect_dispatch, read_indirect_grid
    from vyre_driver.plan.launch import LaunchPlan, infer_dispatch_grid, infer_dispatch_grid_for_count, plan_launch
    from vyre_driver.plan.outputs import (
        OutputBindingLayout,
        OutputLayout,
        enforce_actual_output_budget,
        output_binding_layout,
        output_binding_layouts,
        output_layout_from_program,
    )
    from vyre_driver.plan.params import (
        dispatch_param_words,
        dispatch_param_words_into,
        try_dispatch_param_words,
        try_dispatch_param_words_into,
    )
    from vyre_driver.plan.shapes import (
        borrowed_input_batch_shapes_match,
        borrowed_input_shapes_match,
        dispatch_configs_share_launch_shape,
        program_vsa_fingerprint,
        program_vsa_fingerprint_words,
        resolve_fixpoint_iterations,
        resolve_fixpoint_iterations_usize,
    )
    from vyre_driver.plan.specialize import SpecCacheKey, SpecMap, SpecValue, specialize
    from vyre_driver.plan.tail import (
        TailMaskPolicy,
        coerce_to_pow2_with_tail_mask,
        try_coerce_to_pow2_with_tail_mask,
    )
    from vyre_driver.policy.enforce import (
        AllowedOps,
        Chain,
        DeniedFeatures,
        EnforceGate,
        EnforceVerdict,
        GatedBackend,
        MaxDeclaredBytes,
        ProvenDeterminism,
    )
    from vyre_driver.registry.aot import AotEmitter, AotTargetId, emit_aot_target, registered_aot_emitters
    from vyre_driver.registry.backends import (
        availability,
        backend_problems,
        register,
        registered_backends,
        registered_backends_by_precedence,
        unregister,
    )
    from vyre_driver.registry.dialects import (
        AttrSchema,
        AttrType,
        Category,
        Dialect,
        DialectRegistration,
        DialectRegistry,
        DuplicateOpIdError,
        InternedOpId,
        LoweringCtx,
        LoweringTable,
        MutationClass,
        OpBackendTarget,
        OpDef,
        OpDefRegistration,
        PrimaryTextBuilder,
        ReferenceKind,
        SecondaryTextBuilder,
        Signature,
        TextBuilder,
        TextModule,
        TypedParam,
        default_validator,
        intern_string,
    )
    from vyre_driver.registry.discovery import BackendProblem

__version__ = "0.1.0"

_MODULES = {
    "backend.aot": "NativeModuleBuilder PrimaryBinaryBuilder",
    "backend.config": "DispatchConfig Preference",
    "backend.contract": "CONTRACT VyreBackend",
    "backend.executable": "Executable",
    "backend.ops": "core_supported_ops",
    "backend.pending": "PendingDispatch",
    "backend.pipeline": "CompiledPipeline PipelineCacheSnapshot",
    "backend.registration": "Availability BackendRegistration Selection",
    "backend.resources": """
        DEVICE_BUFFER_FEATURE DeviceBuffer HostShimBuffer ResidentDispatchStep ResidentReadRange Resource
        default_dispatch_with_device_buffers validate_buffer_ownership
    """,
    "backend.results": """
        Memory MemoryRef OutputBuffers ResidentSequenceTiming TimedDispatchResult borrowed_input_slices
        replace_output_buffers_preserving_slots
    """,
    "backend.typed": "TypedDispatchExt",
    "device.profile": "DeviceProfile DeviceTimingQuality",
    "engine.backend": "EngineBackend",
    "engine.port": "DevicePort SourceUnit",
    "errors": """
        BackendError BackendUnavailable BadArtifact BadCapsule ContractMismatch DeviceLost DeviceOutOfMemory
        DispatchFailed DispatchTimeout DuplicateBackend Error InvalidInput InvalidLaunch InvalidProgram
        InvalidSetting KernelCompileFailed OutputLimitExceeded PoisonedState PolicyDenied
        ResidentGraphReuseTelemetryError ShadowDiverged StaleHandle Trapped UnknownBackend UnsupportedFeature
    """,
    "lower.legalize": "legalize",
    "lower.lowered": "Lowered",
    "lower.target": "SubgroupCaps SubgroupOp Target",
    "observe.builds": """
        CompiledPipelineBuild compile_owned compile_owned_with_telemetry compile_shared
        compile_shared_with_telemetry compile_with_telemetry
    """,
    "observe.diagnostics": "Diagnostic DiagnosticCode OpLocation Severity",
    "observe.evidence": "DispatchTimingEvidence EvidenceArtifact EvidenceBundle ReplayEvidence",
    "observe.live": "acquire acquire_preferred_dispatch_backend compile compile_many",
    "observe.provenance": """
        SourceProvenance capture_git_info capture_git_info_at source_fingerprint source_tree_fingerprint
        source_tree_fingerprint_at
    """,
    "observe.reuse": "ResidentGraphReuseTelemetry ReuseWatch",
    "observe.shadow": "DivergenceEvent OnDivergence ShadowPolicy",
    "observe.shadowed": "ShadowedBackend ShadowedPipeline",
    "pipeline.ahead": "CompiledProgram",
    "pipeline.artifact": "NativeModule",
    "pipeline.disk": "DiskPipelineCache",
    "pipeline.fingerprint": "PipelineDeviceFingerprint PipelineFeatureFlags hex_encode hex_short",
    "pipeline.key": "CURRENT_PIPELINE_CACHE_KEY_VERSION PipelineCacheIdentity PipelineCacheKey",
    "pipeline.misses": "PipelineCacheMissEvidence PipelineCacheMissReason",
    "pipeline.signature": "DeviceSignature DeviceSignatureTable",
    "plan.admission": "validate_program_for_backend",
    "plan.binding": """
        BackendLayoutClass BackendLayoutFingerprint BackendLayoutSlot Binding BindingPlan BindingRole
        BindingSetFingerprint binding_plans_share_layout dispatch_element_count
        dispatch_element_count_for_program element_size_bytes
    """,
    "plan.indirect": "IndirectDispatch find_indirect_dispatch read_indirect_grid",
    "plan.launch": "LaunchPlan infer_dispatch_grid infer_dispatch_grid_for_count plan_launch",
    "plan.outputs": """
        OutputBindingLayout OutputLayout enforce_actual_output_budget output_binding_layout
        output_binding_layouts output_layout_from_program
    """,
    "plan.params": """
        dispatch_param_words dispatch_param_words_into try_dispatch_param_words try_dispatch_param_words_into
    """,
    "plan.shapes": """
        borrowed_input_batch_shapes_match borrowed_input_shapes_match dispatch_configs_share_launch_shape
        program_vsa_fingerprint program_vsa_fingerprint_words resolve_fixpoint_iterations
        resolve_fixpoint_iterations_usize
    """,
    "plan.specialize": "SpecCacheKey SpecMap SpecValue specialize",
    "plan.tail": "TailMaskPolicy coerce_to_pow2_with_tail_mask try_coerce_to_pow2_with_tail_mask",
    "policy.enforce": """
        AllowedOps Chain DeniedFeatures EnforceGate EnforceVerdict GatedBackend MaxDeclaredBytes
        ProvenDeterminism
    """,
    "registry.aot": "AotEmitter AotTargetId emit_aot_target registered_aot_emitters",
    "registry.backends": """
        availability backend_problems register registered_backends registered_backends_by_precedence unregister
    """,
    "registry.dialects": """
        AttrSchema AttrType Category Dialect DialectRegistration DialectRegistry DuplicateOpIdError InternedOpId
        LoweringCtx LoweringTable MutationClass OpBackendTarget OpDef OpDefRegistration PrimaryTextBuilder
        ReferenceKind SecondaryTextBuilder Signature TextBuilder TextModule TypedParam default_validator
        intern_string
    """,
    "registry.discovery": "BackendProblem",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "CONTRACT",
    "CURRENT_PIPELINE_CACHE_KEY_VERSION",
    "DEVICE_BUFFER_FEATURE",
    "AllowedOps",
    "AotEmitter",
    "AotTargetId",
    "AttrSchema",
    "AttrType",
    "Availability",
    "BackendError",
    "BackendLayoutClass",
    "BackendLayoutFingerprint",
    "BackendLayoutSlot",
    "BackendProblem",
    "BackendRegistration",
    "BackendUnavailable",
    "BadArtifact",
    "BadCapsule",
    "Binding",
    "BindingPlan",
    "BindingRole",
    "BindingSetFingerprint",
    "Category",
    "Chain",
    "CompiledPipeline",
    "CompiledPipelineBuild",
    "CompiledProgram",
    "ContractMismatch",
    "DeniedFeatures",
    "DeviceBuffer",
    "DeviceLost",
    "DeviceOutOfMemory",
    "DevicePort",
    "DeviceProfile",
    "DeviceSignature",
    "DeviceSignatureTable",
    "DeviceTimingQuality",
    "Diagnostic",
    "DiagnosticCode",
    "Dialect",
    "DialectRegistration",
    "DialectRegistry",
    "DiskPipelineCache",
    "DispatchConfig",
    "DispatchFailed",
    "DispatchTimeout",
    "DispatchTimingEvidence",
    "DivergenceEvent",
    "DuplicateBackend",
    "DuplicateOpIdError",
    "EnforceGate",
    "EnforceVerdict",
    "EngineBackend",
    "Error",
    "EvidenceArtifact",
    "EvidenceBundle",
    "Executable",
    "GatedBackend",
    "HostShimBuffer",
    "IndirectDispatch",
    "InternedOpId",
    "InvalidInput",
    "InvalidLaunch",
    "InvalidProgram",
    "InvalidSetting",
    "KernelCompileFailed",
    "LaunchPlan",
    "Lowered",
    "LoweringCtx",
    "LoweringTable",
    "MaxDeclaredBytes",
    "Memory",
    "MemoryRef",
    "MutationClass",
    "NativeModule",
    "NativeModuleBuilder",
    "OnDivergence",
    "OpBackendTarget",
    "OpDef",
    "OpDefRegistration",
    "OpLocation",
    "OutputBindingLayout",
    "OutputBuffers",
    "OutputLayout",
    "OutputLimitExceeded",
    "PendingDispatch",
    "PipelineCacheIdentity",
    "PipelineCacheKey",
    "PipelineCacheMissEvidence",
    "PipelineCacheMissReason",
    "PipelineCacheSnapshot",
    "PipelineDeviceFingerprint",
    "PipelineFeatureFlags",
    "PoisonedState",
    "PolicyDenied",
    "Preference",
    "PrimaryBinaryBuilder",
    "PrimaryTextBuilder",
    "ProvenDeterminism",
    "ReferenceKind",
    "ReplayEvidence",
    "ResidentDispatchStep",
    "ResidentGraphReuseTelemetry",
    "ResidentGraphReuseTelemetryError",
    "ResidentReadRange",
    "ResidentSequenceTiming",
    "Resource",
    "ReuseWatch",
    "SecondaryTextBuilder",
    "Selection",
    "Severity",
    "ShadowDiverged",
    "ShadowPolicy",
    "ShadowedBackend",
    "ShadowedPipeline",
    "Signature",
    "SourceProvenance",
    "SourceUnit",
    "SpecCacheKey",
    "SpecMap",
    "SpecValue",
    "StaleHandle",
    "SubgroupCaps",
    "SubgroupOp",
    "TailMaskPolicy",
    "Target",
    "TextBuilder",
    "TextModule",
    "TimedDispatchResult",
    "Trapped",
    "TypedDispatchExt",
    "TypedParam",
    "UnknownBackend",
    "UnsupportedFeature",
    "VyreBackend",
    "acquire",
    "acquire_preferred_dispatch_backend",
    "availability",
    "backend_problems",
    "binding_plans_share_layout",
    "borrowed_input_batch_shapes_match",
    "borrowed_input_shapes_match",
    "borrowed_input_slices",
    "capture_git_info",
    "capture_git_info_at",
    "coerce_to_pow2_with_tail_mask",
    "compile",
    "compile_many",
    "compile_owned",
    "compile_owned_with_telemetry",
    "compile_shared",
    "compile_shared_with_telemetry",
    "compile_with_telemetry",
    "core_supported_ops",
    "default_dispatch_with_device_buffers",
    "default_validator",
    "dispatch_configs_share_launch_shape",
    "dispatch_element_count",
    "dispatch_element_count_for_program",
    "dispatch_param_words",
    "dispatch_param_words_into",
    "element_size_bytes",
    "emit_aot_target",
    "enforce_actual_output_budget",
    "find_indirect_dispatch",
    "hex_encode",
    "hex_short",
    "infer_dispatch_grid",
    "infer_dispatch_grid_for_count",
    "intern_string",
    "legalize",
    "output_binding_layout",
    "output_binding_layouts",
    "output_layout_from_program",
    "plan_launch",
    "program_vsa_fingerprint",
    "program_vsa_fingerprint_words",
    "read_indirect_grid",
    "register",
    "registered_aot_emitters",
    "registered_backends",
    "registered_backends_by_precedence",
    "replace_output_buffers_preserving_slots",
    "resolve_fixpoint_iterations",
    "resolve_fixpoint_iterations_usize",
    "source_fingerprint",
    "source_tree_fingerprint",
    "source_tree_fingerprint_at",
    "specialize",
    "try_coerce_to_pow2_with_tail_mask",
    "try_dispatch_param_words",
    "try_dispatch_param_words_into",
    "unregister",
    "validate_buffer_ownership",
    "validate_program_for_backend",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vyre_driver' has no attribute {name!r}")
    value = getattr(import_module(f"vyre_driver.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
