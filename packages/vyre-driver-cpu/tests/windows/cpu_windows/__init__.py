"""The code of the CPU backend for Windows, linked by llvmlite's library for Windows and run under Wine.

A result from here says that the code follows the calling convention and the object format of Windows, that llvmlite
links it there, and that the pool of threads works with the locks of Windows. It says nothing about Python on Windows:
this process is one of Linux, and sends code and memory to another one, which `host.c` is. It is no backend: nothing
registers it, and code that wants it names it: ``vyre-conform run --backend cpu_windows:registration``, with this
folder's parent on the path. ``python -m cpu_windows.prepare`` makes what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vyre_driver.backend.registration import Availability, BackendRegistration, Selection

if TYPE_CHECKING:
    from vyre_driver.backend.contract import VyreBackend


def _backend() -> VyreBackend:
    from cpu_windows.port import WindowsBackend

    return WindowsBackend()


def _availability() -> Availability:
    from cpu_windows.process import missing

    if reason := missing():
        return Availability.unavailable(reason, fix="install Wine and MinGW-w64, and run python -m cpu_windows.prepare")
    return Availability.available("Wine")


registration = BackendRegistration(
    id="cpu-windows",
    precedence=10_002,
    contract=1,
    factory=_backend,
    probe=_availability,
    selection=Selection.BY_NAME,
    summary="code for Windows under Wine, for tests",
)
