"""What the distribution announces."""

from functools import partial

from vyre_driver.backend.registration import Availability, BackendRegistration, Selection
from vyre_reference.backend import Evaluation, ReferenceBackend

registration = BackendRegistration(
    id="reference",
    precedence=900,
    contract=1,
    factory=partial(ReferenceBackend, Evaluation.VECTOR),
    probe=Availability.available,
    selection=Selection.BY_NAME,
    summary="the language's meaning, evaluated in NumPy",
)

scalar_registration = BackendRegistration(
    id="reference-scalar",
    precedence=901,
    contract=1,
    factory=partial(ReferenceBackend, Evaluation.SCALAR),
    probe=Availability.available,
    selection=Selection.BY_NAME,
    summary="the language's meaning, one invocation at a time",
)
