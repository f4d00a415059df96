"""The contract, call by call, on the reference."""

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.testing.contract import BackendContract
from vyre_reference import ReferenceBackend


class TestReference(BackendContract):
    def make(self) -> VyreBackend:
        return ReferenceBackend()
