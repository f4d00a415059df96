"""May this program run here? Everything that is missing is said at once, before the device is touched."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.lower.target import Target
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.plan.limits import SMALLER, exceeded_limits
from vyre_foundation.dtype import f64, i64, u64
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.validate.facts import Facts, Feature


def admit(plan: LaunchPlan, config: DispatchConfig, target: Target, profile: DeviceProfile) -> None:
    """Raise `UnsupportedFeature` with every missing feature and every exceeded limit of a planned dispatch."""
    sizes = {name: plan.byte_length(name) for name in plan.lengths}
    limits = exceeded_limits(plan.program, plan.grid, sizes, profile)
    _refuse([*_missing(plan.facts, config, target, profile), *limits], profile, SMALLER if limits else "")


def admit_program(facts: Facts, config: DispatchConfig, target: Target, profile: DeviceProfile) -> None:
    """As `admit`, for a program that is compiled before its inputs are known."""
    _refuse(list(_missing(facts, config, target, profile)), profile, "")


def _refuse(missing: list[str], profile: DeviceProfile, fix: str) -> None:
    if missing:
        raise UnsupportedFeature("; ".join(missing), backend=profile.backend, fix=fix)


def _missing(facts: Facts, config: DispatchConfig, target: Target, profile: DeviceProfile) -> Iterator[str]:
    """What neither the device has nor legalization can replace. f16, bf16, subgroups, traps and splits are replaced."""
    if Feature.F64 in facts.features and f64 not in target.arithmetic:
        yield "f64"
    if Feature.INT64 in facts.features and not {u64, i64} <= target.arithmetic:
        yield "64-bit integers"
    if Feature.ATOMIC64 in facts.features and (AtomicOp.ADD, u64) not in target.atomics:
        yield "64-bit atomics"
    if config.speculation is Preference.FORCE:
        yield "speculation"
    if config.persistent_thread is Preference.FORCE:
        yield "persistent threads"
    if config.cooperative and not (target.grid_barrier and profile.supports_grid_sync):
        yield "cooperative launches"
