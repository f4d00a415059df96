"""All planted faults, in the order of the layers."""

from __future__ import annotations

from vyre_conform.controls.admission import FAULTS as IN_ADMISSION
from vyre_conform.controls.caches import FAULTS as IN_CACHES
from vyre_conform.controls.device import FAULTS as IN_DEVICES
from vyre_conform.controls.dispatching import FAULTS as IN_DISPATCHING
from vyre_conform.controls.emitter import FAULTS as IN_EMITTERS
from vyre_conform.controls.expressions import FAULTS as IN_EXPRESSIONS
from vyre_conform.controls.fault import Fault
from vyre_conform.controls.graphs import FAULTS as IN_GRAPHS
from vyre_conform.controls.launches import FAULTS as IN_LAUNCHES
from vyre_conform.controls.lowering import FAULTS as IN_LOWERING
from vyre_conform.controls.mistakes import FAULTS as MISTAKES
from vyre_conform.controls.optimizer import FAULTS as IN_OPTIMIZERS
from vyre_conform.controls.planner import FAULTS as IN_PLANNING
from vyre_conform.controls.proofs import FAULTS as IN_PROOFS
from vyre_conform.controls.rewrites import FAULTS as IN_REWRITES
from vyre_conform.controls.sessions import FAULTS as IN_SESSIONS
from vyre_conform.controls.statements import FAULTS as IN_STATEMENTS

FAULTS: tuple[Fault, ...] = (
    *IN_EXPRESSIONS,
    *IN_STATEMENTS,
    *IN_OPTIMIZERS,
    *IN_LOWERING,
    *IN_EMITTERS,
    *IN_PLANNING,
    *IN_CACHES,
    *IN_ADMISSION,
    *IN_DISPATCHING,
    *IN_DEVICES,
    *IN_LAUNCHES,
    *IN_SESSIONS,
    *IN_GRAPHS,
    *IN_PROOFS,
    *IN_REWRITES,
    *MISTAKES,
)
