from . import scalar as scalar, vector as vector
from ._version import __version__ as __version__
from .backend import ReferenceBackend as ReferenceBackend
from .budget import Budget as Budget
from .errors import (
    DataRace as DataRace,
    DivergentBarrier as DivergentBarrier,
    EvaluationError as EvaluationError,
    OutOfFuel as OutOfFuel,
    UndefinedBehaviour as UndefinedBehaviour,
)
from .launch import detect_races as detect_races, run as run
from .registrations import registration as registration, scalar_registration as scalar_registration
from .scalar.races import Races as Races
