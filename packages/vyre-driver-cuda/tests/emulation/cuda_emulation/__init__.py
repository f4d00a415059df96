"""Emitted CUDA C++ executed on the CPU, thread by thread: an instrument for tests where there is no GPU.

A result from here says that the text means what the language says, by the rules of C++ and of CUDA's documentation. It
says nothing about a GPU, its compiler, its memory or its speed. It is no backend: nothing registers it, and code that
wants it names it: ``vyre-conform run --backend cuda_emulation:registration``, with this folder's parent on the path.
``VYRE_EMULATED_ARCHITECTURE`` chooses the architecture that is pretended (sm_90).
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from vyre_driver.backend.registration import Availability, BackendRegistration, Selection

if TYPE_CHECKING:
    from vyre_driver.backend.contract import VyreBackend

VARIABLE = "VYRE_EMULATED_ARCHITECTURE"


def _backend() -> VyreBackend:
    from cuda_emulation.port import emulated

    return emulated()


def _availability() -> Availability:
    from cuda_emulation.compiler import COMPILER

    if shutil.which(COMPILER) is None:
        return Availability.unavailable(f"the search path has no {COMPILER}", fix="install a C++ compiler")
    return Availability.available("a CPU that pretends to be a GPU")


def _rehearsal() -> VyreBackend:
    from cuda_emulation.rehearsal import rehearsed

    return rehearsed()


registration = BackendRegistration(
    id="cuda-emulation",
    precedence=10_000,
    contract=1,
    factory=_backend,
    probe=_availability,
    selection=Selection.BY_NAME,
    summary="emitted CUDA C++ on the CPU, for tests; no GPU",
)
rehearsal = BackendRegistration(
    id="cuda-rehearsal",
    precedence=10_001,
    contract=1,
    factory=_rehearsal,
    probe=_availability,
    selection=Selection.BY_NAME,
    summary="the port of GPUs over a stand-in for CuPy, for tests; no GPU",
)
