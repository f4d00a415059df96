"""The contract, call by call, on the device."""

import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.testing.contract import BackendContract
from vyre_driver_opencl.backend import OpenClBackend


class TestOpenCl(BackendContract):
    @pytest.fixture(autouse=True)
    def _chosen(self, backend_id: str) -> None:
        self.id = backend_id

    def make(self) -> VyreBackend:
        return OpenClBackend(self.id)
