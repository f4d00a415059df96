"""The port of GPUs itself, over the stand-in for CuPy: everything of it runs but NVRTC and the GPU."""

from __future__ import annotations

import os

from cuda_emulation import VARIABLE
from cuda_emulation.compiler import build
from cuda_emulation.fake_cupy import FakeCupy
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.port import SourceUnit
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.binary import Cubin
from vyre_driver_cuda.devices import Candidate
from vyre_driver_cuda.dialect import dialect_of
from vyre_driver_cuda.emit import CudaSource
from vyre_driver_cuda.launch import Module
from vyre_driver_cuda.opened import OpenedDevice, properties_of
from vyre_driver_cuda.port import CudaPort
from vyre_driver_cuda.probe import profile

NAME = "cuda-rehearsal"


class RehearsedPort(CudaPort):
    """A port whose compiler is the host's."""

    def probe(self) -> DeviceProfile:
        return profile(self._opened)

    def compile(self, unit: SourceUnit, queue: int = 0) -> Module:
        architecture = self._opened.candidate.architecture
        code = build(unit.text, unit.kernels)
        assert isinstance(unit, CudaSource)
        return self._loaded(Cubin(unit.kernels, code, architecture, unit.cooperative))


def opened(fake: FakeCupy) -> OpenedDevice:
    architecture = Architecture.parse(os.environ.get(VARIABLE, "sm_90"))
    candidate = Candidate(0, f"rehearsal of {architecture} on a CPU, no GPU", architecture)
    properties = properties_of(fake.cuda.runtime, 0)
    identity = NAME, candidate.name, "no GPU", "emulation", f"the host's C++ compiler for {architecture}"
    return OpenedDevice(candidate, fake, properties, identity, dialect_of(architecture))


def open_port(fake: FakeCupy | None = None) -> CudaPort:
    return RehearsedPort(opened(fake or FakeCupy()))


def rehearsed() -> EngineBackend:
    """The engine over a port of its own."""
    return EngineBackend(NAME, open_port, version="rehearsal, no GPU")
