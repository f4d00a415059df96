"""The textbook evaluator: what a program means, one invocation at a time."""

from vyre_reference.scalar.coverage import Coverage
from vyre_reference.scalar.machine import evaluate
from vyre_reference.scalar.schedule import InOrder, Schedule, Shuffled

__all__ = ["Coverage", "InOrder", "Schedule", "Shuffled", "evaluate"]
