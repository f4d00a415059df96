"""Checks whether a program can run on a backend. All missing features are reported at once, without compilation.

A dispatch checks here when its launch is planned, and a compilation before the inputs are known.
`validate_program_for_backend` is for other callers.
"""

from __future__ import annotations

from collections.abc import Iterator

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.plan.folding import launched_grid
from vyre_driver.plan.launch import LaunchPlan, require_ids_fit, validated, with_workgroup_size
from vyre_driver.plan.limits import WITHIN_LIMITS, exceeded_limits
from vyre_foundation import dialects
from vyre_foundation.ir.expr import Apply, Call, Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import postorder, program_expressions
from vyre_foundation.ops import Tier
from vyre_foundation.validate.buffers import fixed_count
from vyre_foundation.validate.facts import Facts, Feature


def validate_program_for_backend(
    backend: VyreBackend, program: Program, config: DispatchConfig = DEFAULT_CONFIG
) -> Facts:
    """Check whether a backend can run a program with a configuration, as a dispatch does before it checks its inputs.

    Returns:
        The facts of the program.

    Raises:
        InvalidProgram: The program is invalid. The error has every finding.
        InvalidLaunch: The grid has more invocations than there are ids.
        UnsupportedFeature: The error lists every op that the backend does not execute, including those in expanded
            calls, every missing feature that the program or the configuration needs, and every limit that the
            declarations or an overridden grid exceed.
    """
    facts = validated(with_workgroup_size(program, config.workgroup_override))
    missing = [f"the op {id}" for id in sorted(used_ops(facts.program) - backend.supported_ops())]
    speculates, keeps_threads = backend.supports_speculation(), backend.supports_persistent_thread_dispatch()
    profile = backend.device_profile()
    missing += missing_features(facts, config, profile, speculates=speculates, keeps_threads=keeps_threads)
    _refuse(missing, _declared_limits(facts.program, config, profile), profile)
    return facts


def admit_program(facts: Facts, config: DispatchConfig, profile: DeviceProfile) -> None:
    """Raise `UnsupportedFeature` if the device cannot run a program, before its inputs are known.

    The error lists every missing feature, and every limit that the declarations exceed.
    """
    _refuse(missing_features(facts, config, profile), _declared_limits(facts.program, config, profile), profile)


def admit(plan: LaunchPlan, config: DispatchConfig, profile: DeviceProfile) -> None:
    """Check a planned dispatch as `admit_program`, including the limits of the whole launch."""
    sizes = {name: plan.byte_length(name) for name in plan.lengths}
    limits = exceeded_limits(plan.program, launched_grid(plan.program, plan.grid, profile), sizes, profile)
    _refuse(missing_features(plan.facts, config, profile), limits, profile)


def missing_features(
    facts: Facts,
    config: DispatchConfig,
    profile: DeviceProfile,
    *,
    speculates: bool = False,
    keeps_threads: bool = False,
) -> list[str]:
    """Return the features that a program or its configuration needs, and that the device does not have.

    f16, bf16, subgroups, traps and grid barriers are never missing: they are legalized.
    """
    wanted = {
        "f64": (Feature.F64 in facts.features, profile.supports_f64),
        "64-bit integers": (Feature.INT64 in facts.features, profile.supports_int64),
        "64-bit atomics": (Feature.ATOMIC64 in facts.features, profile.supports_atomic64),
        "speculation": (config.speculation is Preference.FORCE, speculates),
        "persistent threads": (config.persistent_thread is Preference.FORCE, keeps_threads),
        "cooperative launches": (config.cooperative, profile.supports_grid_sync),
    }
    return [name for name, (is_wanted, is_there) in wanted.items() if is_wanted and not is_there]


def used_ops(program: Program) -> frozenset[str]:
    """Return the ids of all ops of the language in the expressions of a program and in its expanded calls."""
    memo: dict[Expr, Expr] = {}

    def found() -> Iterator[str]:
        for node in program_expressions(program):
            if isinstance(node, Call):
                yield from (n.op.id for n in postorder((dialects.expand(node, memo),)) if isinstance(n, Apply))
            elif isinstance(node, Apply) and node.op.tier is Tier.LANGUAGE:
                yield node.op.id

    return frozenset(found())


def _declared_limits(program: Program, config: DispatchConfig, profile: DeviceProfile) -> list[str]:
    """The limits that a program exceeds whatever its inputs are."""
    if config.grid_override is not None:
        require_ids_fit(program, config.grid_override)
    buffers = {buffer.name: buffer for buffer in program.buffers}
    counts = {name: fixed_count(buffer, buffers) for name, buffer in buffers.items()}
    sizes = {name: count * buffers[name].dtype.size for name, count in counts.items() if count is not None}
    grid = launched_grid(program, config.grid_override or (1, 1, 1), profile)
    return exceeded_limits(program, grid, sizes, profile)


def _refuse(missing: list[str], limits: list[str], profile: DeviceProfile) -> None:
    if missing or limits:
        fix = WITHIN_LIMITS if limits else ""
        raise UnsupportedFeature("; ".join((*missing, *limits)), backend=profile.backend, fix=fix)
