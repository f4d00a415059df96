"""Which device a backend opens: every candidate, the order among them, and `VYRE_OPENCL_DEVICE`.

The variable is ``PLATFORM``, ``PLATFORM:DEVICE`` or ``:DEVICE``. Both parts are pieces of a name, in any case; DEVICE
may also be a position in its platform (``0``) or a kind (``gpu``, ``cpu``, ``accelerator``). Among several matches the
usual order decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import pyopencl as cl

from vyre_driver.errors import BackendError, BackendUnavailable
from vyre_driver_opencl import about, icd, vendors

T = TypeVar("T")

VARIABLE = "VYRE_OPENCL_DEVICE"
GPU_ONLY = "opencl-gpu"
"""The backend that opens no CPU."""
LINKERS = ("ld", "ld.lld", "lld")
KINDS = {"gpu": cl.device_type.GPU, "cpu": cl.device_type.CPU, "accelerator": cl.device_type.ACCELERATOR}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A device that may be opened, and its position in its platform."""

    device: cl.Device
    position: int

    @property
    def platform(self) -> str:
        """All that a user may know the platform by."""
        asked = (cl.platform_info.NAME, cl.platform_info.VENDOR, cl.platform_info.VERSION)
        return " ".join(str(self.device.platform.get_info(one)) for one in asked)

    @property
    def is_pocl(self) -> bool:
        """Whether PoCL is the platform of this device."""
        return about.is_pocl(self.device)

    def __str__(self) -> str:
        return f"{self.device.platform.name.strip()}:{self.position} ({self.device.name.strip()})"


def candidates(backend: str) -> list[Candidate]:
    """The devices that this backend may open, best first; `BackendUnavailable` says why there are none."""
    wanted = os.environ.get(VARIABLE, "").strip()
    if backend == "opencl-intel":
        return _intel(backend)
    if backend == GPU_ONLY and not vendors.may_have_gpu():
        _refuse_without_gpu()
    with icd.pocl_settings():
        found = ranked(_devices(_general()))
    if backend == GPU_ONLY:
        found = [candidate for candidate in found if not about.is_cpu(candidate.device)] or _refuse_without_gpu()
    if not wanted:
        return found or _refuse_nothing(backend)
    chosen = [candidate for candidate in found if matches(candidate, wanted)]
    if not chosen and (library := icd.locate(icd.INTEL)):
        # The embedded Intel runtime has a backend of its own and is loaded for this one only on demand.
        found += _devices(icd.attach(icd.INTEL, library))
        chosen = [candidate for candidate in found if matches(candidate, wanted)]
    return chosen or _refuse_choice(backend, wanted, found)


def matches(candidate: Candidate, wanted: str) -> bool:
    """Whether the text of the variable names this device."""
    platform, _, device = wanted.casefold().partition(":")
    return platform.strip() in candidate.platform.casefold() and _is_called(candidate, device.strip())


def siblings(best: Candidate, others: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that run the code of `best` on the same processor in other ways, and itself: PoCL's two devices.

    They have one platform, one compiler and one memory, and so what one has proven holds for the others.
    """
    if not best.is_pocl or not about.is_cpu(best.device):
        return [best]
    platform, kind = best.device.platform, best.device.type
    same = [c for c in others if c.device.platform == platform and c.device.type == kind]
    # `POCL_DEVICES` may name a way twice, and means two devices then: the first ones of all ways belong together.
    place = _alike(best, same).index(best)
    paired = {alike[place].position: alike[place] for c in same if place < len(alike := _alike(c, same))}
    return sorted(paired.values(), key=lambda candidate: candidate.device.max_compute_units)


def _alike(one: Candidate, others: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that run code in the way of `one`, in the order of their platform."""
    return sorted((c for c in others if c.device.name == one.device.name), key=lambda c: c.position)


def devices(backend: str) -> list[list[Candidate]]:
    """What can be opened side by side, best first: each device with its siblings, the one with most workers last."""
    found: list[list[Candidate]] = []
    usable = candidates(backend)
    for candidate in usable:
        if not any(candidate in group for group in found):
            found.append(siblings(candidate, usable))
    return found


def first_usable(backend: str, attempt: Callable[[Candidate, Sequence[Candidate]], T]) -> T:
    """What `attempt` gives for the best device of this backend for which it does not fail.

    Args:
        backend: The id of the backend.
        attempt: Called with a candidate, and all candidates of its group.

    Raises:
        BackendUnavailable: It fails for all, with the reason of each.
    """
    reasons = []
    for group in (candidates, fallbacks):
        found = group(backend)
        for candidate in found:
            try:
                return attempt(candidate, found)
            except BackendError as error:
                reasons.append((f"{candidate}: {error.message}", error.fix))
    refused = "; ".join(reason for reason, _ in reasons)
    raise BackendUnavailable(backend, f"no device can be used ({refused})", fix=reasons[0][1])


def fallbacks(backend: str) -> list[Candidate]:
    """What `opencl` opens where no candidate can be used: the embedded Intel runtime, if it is installed."""
    if backend != "opencl" or os.environ.get(VARIABLE, "").strip() or icd.locate(icd.INTEL) is None:
        return []
    return _intel(backend)


def require_compiler(backend: str, candidate: Candidate) -> None:
    """Raise `BackendUnavailable` for a CPU of PoCL that could compile nothing.

    PoCL passes the name of the CPU to its compiler, which refuses "generic", the name of CPUs that are newer than its
    LLVM. It links each kernel with a linker of the system, and ends the process where there is none.
    """
    if not (candidate.is_pocl and about.is_cpu(candidate.device)):
        return
    if candidate.device.version.endswith("-generic"):
        reason = f"the compiler of {candidate.device.platform.version.strip()} does not know this CPU"
        fix = "use the backend 'cpu', install a newer PoCL, or pip install vyre-driver-opencl[intel]"
        raise BackendUnavailable(backend, reason, fix=fix)
    if not any(map(_is_installed, LINKERS)):
        reason = f"{candidate} needs a linker, and the search path has none of {', '.join(LINKERS)}"
        fix = "install binutils (Debian: apt install binutils), or pip install vyre-driver-opencl[intel]"
        raise BackendUnavailable(backend, reason, fix=fix)


def _is_installed(command: str) -> bool:
    return any(os.access(f"{folder}/{command}", os.X_OK) for folder in os.get_exec_path())


def ranked(found: Iterable[Candidate]) -> list[Candidate]:
    """Best first: GPUs and accelerators, then PoCL from the newest version down, then the rest."""
    return sorted(found, key=_precedence, reverse=True)


def _precedence(candidate: Candidate) -> tuple[bool, tuple[int, ...]]:
    release = re.search(r"PoCL (\d+(?:\.\d+)*)", candidate.device.platform.version)
    version = tuple(map(int, release[1].split("."))) if release else ()
    return bool(candidate.device.type & (KINDS["gpu"] | KINDS["accelerator"])), version


def _is_called(candidate: Candidate, text: str) -> bool:
    if text.isdecimal():
        return candidate.position == int(text)
    if text in KINDS:
        return bool(candidate.device.type & KINDS[text])
    return text in candidate.device.name.casefold()


def _general() -> Iterator[cl.Platform]:
    """What the loader lists, and the embedded PoCL where this loader does not bring its own."""
    yield from icd.listed()
    if library := icd.locate(icd.POCL):
        yield from icd.attach(icd.POCL, library)


def _intel(backend: str) -> list[Candidate]:
    """The CPU devices of the embedded Intel runtime, or else of one that the system registers."""
    library = icd.locate(icd.INTEL)
    listed = icd.listed(only=library)
    attached = icd.attach(icd.INTEL, library) if library else []
    theirs = [platform for platform in (*attached, *listed) if "Intel" in platform.vendor]
    found = [candidate for candidate in _devices(theirs) if about.is_cpu(candidate.device)]
    if found:
        return found
    reason = f"the distribution {icd.INTEL.distribution!r} is not installed, and the system registers no Intel runtime"
    raise BackendUnavailable(backend, reason, fix="pip install vyre-driver-opencl[intel]")


def _devices(platforms: Iterable[cl.Platform]) -> list[Candidate]:
    """The devices of platforms, each once: a runtime may be listed twice, and attached besides."""
    unique = {platform.int_ptr: platform for platform in platforms}
    return [Candidate(device, i) for platform in unique.values() for i, device in enumerate(_devices_of(platform))]


def _devices_of(platform: cl.Platform) -> list[cl.Device]:
    try:
        return list(platform.get_devices())
    except cl.Error:  # a registered runtime without hardware
        return []


def _refuse_nothing(backend: str) -> list[Candidate]:
    looked = f"the loader's list, {', '.join(vendors.FOLDERS)}, the distribution {icd.POCL.distribution!r}"
    reason = f"no OpenCL runtime with a device was found (looked at {looked})"
    if icd.locate(icd.POCL) is None:
        raise BackendUnavailable(backend, reason, fix="pip install pyopencl[pocl]")
    reason += "; the embedded PoCL has no device while it cannot write its folder"
    raise BackendUnavailable(backend, reason, fix="set POCL_CACHE_DIR to a folder that can be written")


def _refuse_without_gpu() -> NoReturn:
    raise BackendUnavailable(GPU_ONLY, "no GPU with an OpenCL runtime was found", fix="install the GPU's driver")


def _refuse_choice(backend: str, wanted: str, found: list[Candidate]) -> list[Candidate]:
    there = "; ".join(map(str, found)) or "none"
    raise BackendUnavailable(
        backend, f"{VARIABLE}={wanted!r} matches no device (found: {there})", fix="name one of them, or unset it"
    )
