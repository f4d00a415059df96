"""Passes of a runtime's compiler that make wrong code, and are withheld from it.

Intel's CPU runtime reads options of its compiler from a variable, once, when the first context of a process is made.
Only releases that are known to have an option are told about it: others would end the process over a word that they do
not know.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from vyre_driver_opencl import about
from vyre_driver_opencl.api import cl

VARIABLE = "CL_CONFIG_LLVM_OPTIONS"
WITHHELD = {
    "2026.22.": (
        # Of scalar code it makes vectors with all ones that are written to a register the instruction does not reach.
        "-disable-x86-scalar-to-vector",
    ),
}
"""Options by the beginning of the version of a driver of Intel's CPU runtime."""


def withheld(device: cl.Device) -> tuple[str, ...]:
    """The options for this device, but for those that the user has set: the compiler takes each once."""
    is_intel = about.is_cpu(device) and "Intel" in about.ask(about.platform(device), cl.platform_info.VENDOR)
    release = about.ask(device, cl.device_info.DRIVER_VERSION) if is_intel else ""
    options = next((options for start, options in WITHHELD.items() if release.startswith(start)), ())
    own = os.environ.get(VARIABLE, "")
    return tuple(option for option in options if option.partition("=")[0] not in own)


@contextmanager
def withholding(device: cl.Device) -> Iterator[None]:
    """While contexts of this device are made."""
    before, options = os.environ.get(VARIABLE), withheld(device)
    if options:
        os.environ[VARIABLE] = " ".join([before, *options] if before else options)
    try:
        yield
    finally:
        if options and before is None:
            del os.environ[VARIABLE]
        elif before is not None:
            os.environ[VARIABLE] = before
