"""The fast evaluator: all lanes of many workgroups at once, in NumPy."""

from vyre_reference.vector.machine import evaluate

__all__ = ["evaluate"]
