"""Every way into the backend, with its errors, its handles and its life: the suite that all drivers share."""

from __future__ import annotations

import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.testing.contract import BackendContract

from .conftest import NAME, OpenPort


class TestCuda(BackendContract):
    @pytest.fixture(autouse=True)
    def opened(self, open_port: OpenPort) -> None:
        self.open_port = open_port

    def make(self) -> VyreBackend:
        return EngineBackend(NAME, self.open_port)
