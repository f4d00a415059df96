"""Negative controls: backends with planted faults, each of which the suite has to find."""

from vyre_conform.controls.fault import Fault, Layer
from vyre_conform.controls.faults import FAULTS
from vyre_conform.controls.hunt import hunt, run_controls

__all__ = ["FAULTS", "Fault", "Layer", "hunt", "run_controls"]
