"""What the distribution announces. Nothing of the evaluators is imported before a backend is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vyre_driver.backend.registration import Availability, BackendRegistration, Selection

if TYPE_CHECKING:
    from vyre_reference.backend import ReferenceBackend


def _vector() -> ReferenceBackend:
    from vyre_reference.backend import Evaluation, ReferenceBackend

    return ReferenceBackend(Evaluation.VECTOR)


def _scalar() -> ReferenceBackend:
    from vyre_reference.backend import Evaluation, ReferenceBackend

    return ReferenceBackend(Evaluation.SCALAR)


registration = BackendRegistration(
    id="reference",
    precedence=900,
    contract=1,
    factory=_vector,
    probe=Availability.available,
    selection=Selection.BY_NAME,
    summary="the language's meaning, evaluated in NumPy",
)

scalar_registration = BackendRegistration(
    id="reference-scalar",
    precedence=901,
    contract=1,
    factory=_scalar,
    probe=Availability.available,
    selection=Selection.BY_NAME,
    summary="the language's meaning, one invocation at a time",
)
