from .arrays.array import DeviceArray as DeviceArray
from .arrays.dispatch import dispatch_device_arrays as dispatch_device_arrays
from .arrays.structs import StructArray as StructArray
from .backend.config import DispatchConfig as DispatchConfig, Preference as Preference
from .backend.contract import CONTRACT as CONTRACT, VyreBackend as VyreBackend
from .backend.executable import Executable as Executable
from .backend.ops import core_supported_ops as core_supported_ops
from .backend.pending import PendingDispatch as PendingDispatch
from .backend.pipeline import (
    CompiledPipeline as CompiledPipeline,
    PipelineCacheSnapshot as PipelineCacheSnapshot,
)
from .backend.registration import (
    Availability as Availability,
    BackendRegistration as BackendRegistration,
    DeviceFactory as DeviceFactory,
    Selection as Selection,
)
from .backend.resources import (
    DEVICE_BUFFER_FEATURE as DEVICE_BUFFER_FEATURE,
    DeviceBuffer as DeviceBuffer,
    HostShimBuffer as HostShimBuffer,
    ResidentDispatchStep as ResidentDispatchStep,
    ResidentReadRange as ResidentReadRange,
    ResidentWave as ResidentWave,
    Resource as Resource,
    default_dispatch_with_device_buffers as default_dispatch_with_device_buffers,
    validate_buffer_ownership as validate_buffer_ownership,
)
from .backend.results import (
    Memory as Memory,
    MemoryRef as MemoryRef,
    OutputBuffers as OutputBuffers,
    ResidentSequenceTiming as ResidentSequenceTiming,
    TimedDispatchResult as TimedDispatchResult,
    borrowed_input_slices as borrowed_input_slices,
    replace_output_buffers_preserving_slots as replace_output_buffers_preserving_slots,
)
from .backend.typed import TypedDispatchExt as TypedDispatchExt
from .codegen.c.unit import print_unit as print_unit
from .codegen.dialect import CDialect as CDialect, Marking as Marking, SourceText as SourceText
from .codegen.lower import legalize as legalize
from .codegen.operators import c_casts as c_casts, c_operators as c_operators
from .compat import (
    DuplicateOpIdError as DuplicateOpIdError,
    Error as Error,
    NativeModule as NativeModule,
    NativeModuleBuilder as NativeModuleBuilder,
    OpDefRegistration as OpDefRegistration,
    PrimaryBinaryBuilder as PrimaryBinaryBuilder,
    PrimaryTextBuilder as PrimaryTextBuilder,
    SecondaryTextBuilder as SecondaryTextBuilder,
    compile_shared as compile_shared,
    compile_shared_with_telemetry as compile_shared_with_telemetry,
    resolve_fixpoint_iterations_usize as resolve_fixpoint_iterations_usize,
    try_coerce_to_pow2_with_tail_mask as try_coerce_to_pow2_with_tail_mask,
    try_dispatch_param_words as try_dispatch_param_words,
    try_dispatch_param_words_into as try_dispatch_param_words_into,
)
from .device.profile import (
    DeviceProfile as DeviceProfile,
    DeviceTimingQuality as DeviceTimingQuality,
    Extent as Extent,
)
from .engine.backend import EngineBackend as EngineBackend
from .engine.pending import Ledger as Ledger
from .engine.port import DevicePort as DevicePort, SourceUnit as SourceUnit
from .errors import (
    BackendError as BackendError,
    BackendUnavailable as BackendUnavailable,
    BadArtifact as BadArtifact,
    BadCapsule as BadCapsule,
    ContractMismatch as ContractMismatch,
    DeviceLost as DeviceLost,
    DeviceOutOfMemory as DeviceOutOfMemory,
    DispatchFailed as DispatchFailed,
    DispatchTimeout as DispatchTimeout,
    DuplicateBackend as DuplicateBackend,
    InvalidGraph as InvalidGraph,
    InvalidInput as InvalidInput,
    InvalidLaunch as InvalidLaunch,
    InvalidProgram as InvalidProgram,
    InvalidSetting as InvalidSetting,
    KernelCompileFailed as KernelCompileFailed,
    LaunchCancelled as LaunchCancelled,
    OutputLimitExceeded as OutputLimitExceeded,
    PoisonedState as PoisonedState,
    PolicyDenied as PolicyDenied,
    ResidentGraphReuseTelemetryError as ResidentGraphReuseTelemetryError,
    ShadowDiverged as ShadowDiverged,
    StaleHandle as StaleHandle,
    Trapped as Trapped,
    UnknownBackend as UnknownBackend,
    UnsupportedFeature as UnsupportedFeature,
)
from .graph.nodes import Graph as Graph
from .graph.record import GraphRecorder as GraphRecorder
from .graph.wire import decode_graph as decode_graph
from .legalization.lowered import Kernel as Kernel, Lowered as Lowered
from .legalization.target import (
    Arrangement as Arrangement,
    Groups as Groups,
    SubgroupCaps as SubgroupCaps,
    SubgroupOp as SubgroupOp,
    Target as Target,
)
from .observe.builds import (
    CompiledPipelineBuild as CompiledPipelineBuild,
    compile_owned as compile_owned,
    compile_owned_with_telemetry as compile_owned_with_telemetry,
    compile_with_telemetry as compile_with_telemetry,
)
from .observe.diagnostics import (
    Diagnostic as Diagnostic,
    DiagnosticCode as DiagnosticCode,
    OpLocation as OpLocation,
    Severity as Severity,
)
from .observe.evidence import (
    DispatchTimingEvidence as DispatchTimingEvidence,
    EvidenceArtifact as EvidenceArtifact,
    EvidenceBundle as EvidenceBundle,
    ReplayEvidence as ReplayEvidence,
)
from .observe.graphs import check_graph as check_graph
from .observe.live import (
    acquire as acquire,
    acquire_preferred_dispatch_backend as acquire_preferred_dispatch_backend,
    backend_for as backend_for,
    compile as compile,
    compile_many as compile_many,
    traced as traced,
)
from .observe.provenance import (
    SourceProvenance as SourceProvenance,
    capture_git_info as capture_git_info,
    capture_git_info_at as capture_git_info_at,
    source_fingerprint as source_fingerprint,
    source_tree_fingerprint as source_tree_fingerprint,
    source_tree_fingerprint_at as source_tree_fingerprint_at,
)
from .observe.reuse import (
    ResidentGraphReuseTelemetry as ResidentGraphReuseTelemetry,
    ReuseWatch as ReuseWatch,
)
from .observe.shadow import (
    DivergenceEvent as DivergenceEvent,
    OnDivergence as OnDivergence,
    ShadowPolicy as ShadowPolicy,
)
from .observe.shadowed import ShadowedBackend as ShadowedBackend, ShadowedPipeline as ShadowedPipeline
from .observe.trace import KernelRun as KernelRun, Trace as Trace, TraceSpan as TraceSpan, Track as Track
from .pipeline.ahead import CompiledProgram as CompiledProgram
from .pipeline.disk import DiskPipelineCache as DiskPipelineCache
from .pipeline.fingerprint import (
    PipelineDeviceFingerprint as PipelineDeviceFingerprint,
    PipelineFeatureFlags as PipelineFeatureFlags,
    hex_encode as hex_encode,
    hex_short as hex_short,
)
from .pipeline.key import (
    CURRENT_PIPELINE_CACHE_KEY_VERSION as CURRENT_PIPELINE_CACHE_KEY_VERSION,
    PipelineCacheIdentity as PipelineCacheIdentity,
    PipelineCacheKey as PipelineCacheKey,
)
from .pipeline.misses import (
    PipelineCacheMissEvidence as PipelineCacheMissEvidence,
    PipelineCacheMissReason as PipelineCacheMissReason,
)
from .pipeline.signature import (
    DeviceSignature as DeviceSignature,
    DeviceSignatureTable as DeviceSignatureTable,
)
from .plan.admission import validate_program_for_backend as validate_program_for_backend
from .plan.binding import (
    BackendLayoutClass as BackendLayoutClass,
    BackendLayoutFingerprint as BackendLayoutFingerprint,
    BackendLayoutSlot as BackendLayoutSlot,
    Binding as Binding,
    BindingPlan as BindingPlan,
    BindingRole as BindingRole,
    BindingSetFingerprint as BindingSetFingerprint,
    binding_plans_share_layout as binding_plans_share_layout,
    dispatch_element_count as dispatch_element_count,
    dispatch_element_count_for_program as dispatch_element_count_for_program,
    element_size_bytes as element_size_bytes,
)
from .plan.indirect import (
    IndirectDispatch as IndirectDispatch,
    find_indirect_dispatch as find_indirect_dispatch,
    read_indirect_grid as read_indirect_grid,
)
from .plan.launch import (
    LaunchPlan as LaunchPlan,
    infer_dispatch_grid as infer_dispatch_grid,
    infer_dispatch_grid_for_count as infer_dispatch_grid_for_count,
    plan_launch as plan_launch,
)
from .plan.outputs import (
    OutputBindingLayout as OutputBindingLayout,
    OutputLayout as OutputLayout,
    enforce_actual_output_budget as enforce_actual_output_budget,
    output_binding_layout as output_binding_layout,
    output_binding_layouts as output_binding_layouts,
    output_layout_from_program as output_layout_from_program,
)
from .plan.params import (
    dispatch_param_words as dispatch_param_words,
    dispatch_param_words_into as dispatch_param_words_into,
)
from .plan.shapes import (
    borrowed_input_batch_shapes_match as borrowed_input_batch_shapes_match,
    borrowed_input_shapes_match as borrowed_input_shapes_match,
    dispatch_configs_share_launch_shape as dispatch_configs_share_launch_shape,
    program_vsa_fingerprint as program_vsa_fingerprint,
    program_vsa_fingerprint_words as program_vsa_fingerprint_words,
    resolve_fixpoint_iterations as resolve_fixpoint_iterations,
)
from .plan.specialize import (
    SpecCacheKey as SpecCacheKey,
    SpecMap as SpecMap,
    SpecValue as SpecValue,
    specialize as specialize,
)
from .plan.tail import (
    TailMaskPolicy as TailMaskPolicy,
    coerce_to_pow2_with_tail_mask as coerce_to_pow2_with_tail_mask,
)
from .policy.enforce import (
    AllowedOps as AllowedOps,
    Chain as Chain,
    DeniedFeatures as DeniedFeatures,
    EnforceGate as EnforceGate,
    EnforceVerdict as EnforceVerdict,
    GatedBackend as GatedBackend,
    MaxDeclaredBytes as MaxDeclaredBytes,
    ProvenDeterminism as ProvenDeterminism,
)
from .profiling.explain import explain as explain, explain_graph as explain_graph
from .profiling.profile import (
    DispatchProfile as DispatchProfile,
    KernelProfile as KernelProfile,
    profile as profile,
    profile_graph as profile_graph,
)
from .profiling.roofs import Roofs as Roofs, roofs_of as roofs_of
from .profiling.verdicts import DispatchExplanation as DispatchExplanation, DispatchVerdict as DispatchVerdict
from .registry.aot import (
    AotEmitter as AotEmitter,
    AotTargetId as AotTargetId,
    emit_aot_target as emit_aot_target,
    registered_aot_emitters as registered_aot_emitters,
)
from .registry.backends import (
    availability as availability,
    backend_problems as backend_problems,
    register as register,
    registered_backends as registered_backends,
    registered_backends_by_precedence as registered_backends_by_precedence,
    unregister as unregister,
)
from .registry.dialects import (
    AttrSchema as AttrSchema,
    AttrType as AttrType,
    Category as Category,
    Dialect as Dialect,
    DialectRegistration as DialectRegistration,
    DialectRegistry as DialectRegistry,
    InternedOpId as InternedOpId,
    LoweringCtx as LoweringCtx,
    LoweringTable as LoweringTable,
    MutationClass as MutationClass,
    OpBackendTarget as OpBackendTarget,
    OpDef as OpDef,
    ReferenceKind as ReferenceKind,
    Signature as Signature,
    TextBuilder as TextBuilder,
    TextModule as TextModule,
    TypedParam as TypedParam,
    default_validator as default_validator,
    intern_string as intern_string,
)
from .registry.discovery import BackendProblem as BackendProblem
from .registry.listing import DeviceListing as DeviceListing, devices as devices
from .schedule.compiled import CompiledGraph as CompiledGraph, compile_graph as compile_graph
from .schedule.pending import PendingGraph as PendingGraph
from .tune.distribution import (
    Distribution as Distribution,
    SortBackend as SortBackend,
    select_sort_backend as select_sort_backend,
)
from .tune.extraction import (
    DeviceExtraction as DeviceExtraction,
    ExtractionDevice as ExtractionDevice,
    extract_best_for_device as extract_best_for_device,
    extract_best_for_devices as extract_best_for_devices,
)
from .tune.graphs import GraphTuningReport as GraphTuningReport, tune_graph as tune_graph
from .tune.programs import Tuning as Tuning, tune_program as tune_program
from .tune.routing import Route as Route, RoutingTable as RoutingTable, routed_backend as routed_backend
from .tune.speculate import (
    SpeculativePipeline as SpeculativePipeline,
    SpeculativeVariantDecision as SpeculativeVariantDecision,
    SpeculativeVariantKeys as SpeculativeVariantKeys,
    SpeculativeVariantKind as SpeculativeVariantKind,
    SpeculativeVariantRace as SpeculativeVariantRace,
    compile_async as compile_async,
    compile_speculative as compile_speculative,
    record_speculative_variant_race as record_speculative_variant_race,
)
from .tune.tuner import Trial as Trial, TuningReport as TuningReport

__version__: str
