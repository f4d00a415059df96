"""Options that keep a runtime's compiler from making wrong code.

Intel's CPU runtime reads options of its compiler from a variable, once, when the first context of a process is made.
Its compiler ends the process over a word that it does not know, so each option is for the releases that know it. A
context that something else has made before leaves the options unread: `proof.recurrences` shows it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyopencl as cl

from vyre_driver_opencl import about

VARIABLE = "CL_CONFIG_LLVM_OPTIONS"


@dataclass(frozen=True, slots=True)
class Quirk:
    """A flaw of Intel's compiler that an option avoids.

    `releases` is how the versions of the drivers begin that know the option; `reproducer` names the test that has a
    program, and that tells when the flaw is gone.
    """

    option: str
    releases: str
    symptom: str
    reproducer: str


QUIRKS = (
    Quirk(
        option="-disable-x86-scalar-to-vector",
        releases="2026.22.",
        symptom="all ones in scalar code are written to a vector register that the instruction does not reach",
        reproducer="test_optimizers.py::test_the_complement_of_a_minimum",
    ),
    # A loop whose iteration t needs what t - 2 stored may be made vectors of two. The vectoriser of loops asks LLVM's
    # analysis whether there may be vectors, and not of what length. The option, which all releases know, makes the
    # analysis refuse every loop with a distance below this number. The vectoriser has an option of its own, and
    # does not read this one. No vector has that many elements, times the vectors side by side.
    Quirk(
        option="-force-vector-interleave=4096",
        releases="",
        symptom="loops that carry a dependence through memory are made vectors longer than its distance",
        reproducer="test_recurrences.py::test_the_flaw_is_still_there",
    ),
)


def needed(device: cl.Device) -> tuple[str, ...]:
    """The options that the compiler of this device must have been given."""
    if not (about.is_cpu(device) and "Intel" in device.platform.vendor):
        return ()
    release = device.driver_version
    return tuple(quirk.option for quirk in QUIRKS if release.startswith(quirk.releases))


def withheld(device: cl.Device) -> tuple[str, ...]:
    """The options for this device, but for those that the user has set: the compiler takes each once."""
    own = os.environ.get(VARIABLE, "")
    return tuple(option for option in needed(device) if option.partition("=")[0] not in own)


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
