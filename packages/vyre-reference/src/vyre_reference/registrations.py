"""What the distribution announces."""

from functools import partial

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.registration import Availability, BackendRegistration, Selection


def _backend(id: str) -> VyreBackend:
    from vyre_reference.backend import Evaluation, ReferenceBackend  # for those who acquire it

    return ReferenceBackend(Evaluation(id))


registration = BackendRegistration(
    id="reference",
    precedence=900,
    contract=1,
    factory=partial(_backend, "reference"),
    probe=Availability.available,
    selection=Selection.BY_NAME,
    summary="the language's meaning, evaluated in NumPy",
)

scalar_registration = BackendRegistration(
    id="reference-scalar",
    precedence=901,
    contract=1,
    factory=partial(_backend, "reference-scalar"),
    probe=Availability.available,
    selection=Selection.BY_NAME,
    summary="the language's meaning, one invocation at a time",
)
