"""Planted faults as backends: ``vyre-conform run --backend vyre_conform.controls.mutants:ID``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from vyre_conform.controls import evaluated
from vyre_conform.controls.engine import TARGETS, SharingPort, engine, right_engine, sharing_engine
from vyre_conform.controls.faults import FAULTS
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.registration import Availability, BackendRegistration, Selection
from vyre_driver.testing.target import generous_target

RIGHT: Mapping[str, Callable[[], VyreBackend]] = MappingProxyType(
    {"evaluator": evaluated.right, right_engine(generous_target, SharingPort): sharing_engine}
    | {right_engine(target): partial(engine, target) for target in TARGETS}
)
"""What faults are planted in, without any."""
_BACKENDS = {**RIGHT, **{fault.id: fault.plant.begin for fault in FAULTS}}


def __getattr__(name: str) -> BackendRegistration:
    if name not in _BACKENDS:
        raise AttributeError(f"there is no planted fault {name!r}")
    return BackendRegistration(
        id="mutant",
        precedence=999,
        contract=1,
        factory=_BACKENDS[name],
        probe=Availability.available,
        selection=Selection.BY_NAME,
    )
