"""What the distribution announces."""

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.registration import Availability, BackendRegistration, Selection


def _backend() -> VyreBackend:
    from vyre_distributed.backend import DaskBackend

    return DaskBackend()


registration = BackendRegistration(
    id="dask",
    precedence=890,
    contract=1,
    factory=_backend,
    probe=Availability.available,
    selection=Selection.BY_NAME,
    is_distributed=True,
    summary="the workers of a Dask cluster, each with its best backend",
)
