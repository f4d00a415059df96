"""May this program run on a backend? What is missing is said all at once, and nothing is compiled to find out.

Every way in asks here: a dispatch when its launch is planned, a compilation before the inputs are known, and
`validate_program_for_backend` for those who only ask. So they agree.
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
    """The facts of a program that `backend` can run with this configuration.

    What a dispatch refuses before it looks at its inputs is refused here: `InvalidProgram` with every finding;
    `InvalidLaunch` for a grid with more invocations than there are ids; `UnsupportedFeature` with every op that the
    backend does not execute, also in what calls expand to, every feature that the program needs or the configuration
    demands, and every limit that the declarations and an overridden grid exceed.
    """
    facts = validated(with_workgroup_size(program, config.workgroup_override))
    missing = [f"the op {id}" for id in sorted(used_ops(facts.program) - backend.supported_ops())]
    speculates, keeps_threads = backend.supports_speculation(), backend.supports_persistent_thread_dispatch()
    profile = backend.device_profile()
    missing += missing_features(facts, config, profile, speculates=speculates, keeps_threads=keeps_threads)
    _refuse(missing, _declared_limits(facts.program, config, profile), profile)
    return facts


def admit_program(facts: Facts, config: DispatchConfig, profile: DeviceProfile) -> None:
    """Refuse a program that the device cannot run, before its inputs are known.

    `UnsupportedFeature` lists every missing feature and every limit that the declarations exceed.
    """
    _refuse(missing_features(facts, config, profile), _declared_limits(facts.program, config, profile), profile)


def admit(plan: LaunchPlan, config: DispatchConfig, profile: DeviceProfile) -> None:
    """As `admit_program`, for a planned dispatch: the limits are those of the whole launch."""
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
    """What a program needs, or its configuration demands, and the device does not have.

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
    """The ids of all ops of the language in a program's expressions, and in the compositions of its calls."""
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
