"""The contract, call by call, on a cluster."""

import pytest
from distributed import Client

from vyre_distributed import DaskBackend
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.testing.contract import BackendContract


class TestDask(BackendContract):
    @pytest.fixture(autouse=True)
    def _cluster(self, client: Client) -> None:
        self.client = client

    def make(self) -> VyreBackend:
        return DaskBackend(self.client)
