"""The evaluators that define what a vyre program means, and the reference backend.

Names are imported on their first use: an installation that only lists its backends does not pay for the evaluators.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vyre_reference.registrations import registration, scalar_registration

if TYPE_CHECKING:
    from vyre_reference import scalar, vector
    from vyre_reference.backend import ReferenceBackend
    from vyre_reference.budget import Budget
    from vyre_reference.errors import DataRace, DivergentBarrier, EvaluationError, OutOfFuel, UndefinedBehaviour
    from vyre_reference.launch import detect_races, run
    from vyre_reference.scalar.races import Races

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "DataRace",
    "DivergentBarrier",
    "EvaluationError",
    "OutOfFuel",
    "Races",
    "ReferenceBackend",
    "UndefinedBehaviour",
    "detect_races",
    "registration",
    "run",
    "scalar",
    "scalar_registration",
    "vector",
]

_HOMES = {
    "Budget": "vyre_reference.budget",
    "DataRace": "vyre_reference.errors",
    "DivergentBarrier": "vyre_reference.errors",
    "EvaluationError": "vyre_reference.errors",
    "OutOfFuel": "vyre_reference.errors",
    "Races": "vyre_reference.scalar.races",
    "ReferenceBackend": "vyre_reference.backend",
    "UndefinedBehaviour": "vyre_reference.errors",
    "detect_races": "vyre_reference.launch",
    "run": "vyre_reference.launch",
}


def __getattr__(name: str) -> Any:
    if name in ("scalar", "vector"):
        return import_module(f"vyre_reference.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
