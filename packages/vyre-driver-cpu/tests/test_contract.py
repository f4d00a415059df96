"""The contract, call by call, on the CPU."""

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.testing.contract import BackendContract
from vyre_driver_cpu.backend import CpuBackend


class TestCpu(BackendContract):
    def make(self) -> VyreBackend:
        return CpuBackend()
