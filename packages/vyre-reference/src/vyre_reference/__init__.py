"""The evaluators that define what a vyre program means, and the reference backend."""

from vyre_reference import scalar, vector
from vyre_reference._version import __version__
from vyre_reference.backend import ReferenceBackend
from vyre_reference.budget import Budget
from vyre_reference.errors import DataRace, DivergentBarrier, EvaluationError, OutOfFuel, UndefinedBehaviour
from vyre_reference.launch import detect_races, run
from vyre_reference.registrations import registration, scalar_registration
from vyre_reference.scalar.races import Races

__all__ = [
    "Budget",
    "DataRace",
    "DivergentBarrier",
    "EvaluationError",
    "OutOfFuel",
    "Races",
    "ReferenceBackend",
    "UndefinedBehaviour",
    "__version__",
    "detect_races",
    "registration",
    "run",
    "scalar",
    "scalar_registration",
    "vector",
]
