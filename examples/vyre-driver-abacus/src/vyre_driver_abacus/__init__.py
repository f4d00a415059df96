"""A backend from outside. Importing this opens nothing: the factory does, when somebody acquires the backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vyre_driver.backend.registration import Availability, BackendRegistration, Selection

if TYPE_CHECKING:
    from vyre_driver.backend.contract import VyreBackend

__version__ = "1.0.0"


def _open() -> VyreBackend:
    from vyre_driver.engine.backend import EngineBackend
    from vyre_driver_abacus.port import AbacusPort

    return EngineBackend("abacus", AbacusPort, version=__version__)


registration = BackendRegistration(
    id="abacus",
    precedence=800,
    contract=1,
    factory=_open,
    probe=Availability.available,
    selection=Selection.BY_NAME,
    summary="Python that counts on its fingers: an example of a driver",
)
