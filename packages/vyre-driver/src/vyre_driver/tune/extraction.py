"""The fastest variant of a program on a device, by measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.delegate import innermost
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.tune.choice import LaunchChoice, size_bucket
from vyre_driver.tune.tuner import Search, Trial, Tunable
from vyre_driver.tune.variants import variants_of

if TYPE_CHECKING:
    from vyre_driver.backend.contract import VyreBackend
    from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True)
class ExtractionDevice:
    """A device for measurements, with the inputs by name and the options of the dispatches."""

    backend: VyreBackend
    inputs: Mapping[str, object]
    config: DispatchConfig = DEFAULT_CONFIG


@dataclass(frozen=True, slots=True)
class DeviceExtraction:
    """The fastest variant of a program on a device.

    `program` is the variant before lowering; `variant` is its name, "" for the result of the optimizer. `ns` is the
    time of a dispatch. `trials` has all variants with their times, or the reasons for which they were refused.
    """

    device: str
    program: Program
    variant: str
    ns: float
    trials: tuple[Trial, ...]


def extract_best_for_device(program: Program, device: ExtractionDevice) -> DeviceExtraction:
    """Find the fastest of the proven variants of a program, and use it for later launches on this device.

    Args:
        program: A valid program.
        device: A backend of the engine, and inputs of the size that matters.

    Returns:
        The variant. The result of the optimizer is kept unless another variant is faster beyond noise, with the same
        bytes.

    Raises:
        UnsupportedFeature: The launches of the backend cannot be chosen.
        BackendError: The program as it is cannot be dispatched.
    """
    engine = innermost(device.backend)
    if not isinstance(engine, Tunable):
        fix = "choose a backend of the engine"
        raise UnsupportedFeature("extraction of variants", backend=device.backend.id(), fix=fix)
    inputs = ordered_inputs(program, device.inputs)
    lengths = [given.nbytes for given in inputs]
    present = engine.launch_choice(program, lengths, device.config) or LaunchChoice()
    variants = variants_of(program)
    with ExitStack() as stack:
        search = Search(engine, program, device.config, inputs, stack)
        own = replace(present, variant="")
        best = search.best([own, *(replace(own, variant=name) for name in variants)])
        best = replace(best, ns=search.ns(best), own_ns=search.ns(own))
        trials = tuple(search.trials.values())
    if best.variant or present.variant:
        engine.take_choice(program, size_bucket(lengths, device.config), best)
    profile = engine.device_profile()
    return DeviceExtraction(profile.device, variants.get(best.variant, program), best.variant, best.ns, trials)


def extract_best_for_devices(program: Program, devices: Iterable[ExtractionDevice]) -> tuple[DeviceExtraction, ...]:
    """`extract_best_for_device` for each of several devices, in their order."""
    return tuple(extract_best_for_device(program, device) for device in devices)
