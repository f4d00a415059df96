"""Finding OpenCL runtimes: those that the system registers, and those that come as Python distributions.

The system's are found by the OpenCL loader inside of PyOpenCL. The two embedded ones are found where they usually are,
or by their distributions' file lists, and asked for their platforms directly, as the loader would do it. So they need
no registration file, no `LD_LIBRARY_PATH`, and no order: each can be opened after the loader has made its list.

The loader makes that list once, at the first call of the process, and by itself adds the PoCL that lies beside it.
PoCL has two devices for one CPU: `pthread` with a thread for each core, and `basic`, which runs kernels in the calling
thread. It lists `pthread` alone unless `POCL_DEVICES` says otherwise when it is first asked; `pocl_settings` does that
for the embedded PoCL. Others, which a system may register, know these names or not, and are left as they are.

PoCL also keeps machine code of its own between processes, and executes what it finds there: it does not notice a file
that was changed or cut. `pocl_settings` turns that off, and has it compile in a folder that no other user may write.

`only` narrows the list for that moment to one library, where the system registers none that it would hide: then a
process that uses one embedded runtime loads one. Two in a process work too, but an integer division by zero in a kernel
on PoCL, harmless otherwise, then ends the process with SIGFPE. Legalized programs hold no such division.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pyopencl as cl

from vyre_driver_opencl.folders import is_private, pocl_folder, temporary_folder
from vyre_driver_opencl.vendors import description, registered
from vyre_foundation.locks import ForkGuard


@dataclass(frozen=True, slots=True)
class EmbeddedRuntime:
    """A runtime in a Python distribution: its `library`, and what of other distributions must be loaded before.

    The Intel library finds its needs only beside itself, while other distributions may be installed in other folders.
    """

    title: str
    distribution: str
    library: str
    needs: tuple[tuple[str, str], ...] = ()


BOTH_DEVICES = "basic pthread"

POCL = EmbeddedRuntime("PoCL", "pocl-binary-distribution", "libpocl*.so*")
INTEL = EmbeddedRuntime(
    "the Intel runtime",
    "intel-opencl-rt",
    "libintelocl.so",
    needs=(
        ("intel-cmplr-lib-rt", "libintlc.so.5"),
        ("intel-cmplr-lib-rt", "libirng.so"),
        ("intel-cmplr-lib-rt", "libimf.so"),
        ("intel-cmplr-lib-rt", "libsvml.so"),
        ("tbb", "libtbb.so.12"),
    ),
)


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set environment variables that are not set already, for as long as the block runs."""
    missing = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


def locate(runtime: EmbeddedRuntime) -> Path | None:
    """The runtime's library, or None where its distribution is not installed or has none for this system."""
    return _file(runtime.distribution, runtime.library)


def listed(only: Path | None = None) -> list[cl.Platform]:
    """The platforms that the loader knows. `only` (see above) counts at the first call of the process."""
    alone = {"OCL_ICD_VENDORS": str(only)} if only and not registered() else {}
    with _guard.lock, environment(**alone):
        try:
            return cl.get_platforms()
        except cl.LogicError:  # the loader's way to say that there are none
            return []


def pocl_settings() -> AbstractContextManager[None]:
    """While platforms and devices are listed for the first time: what PoCL is told then, unless the user tells it."""
    settings = {"POCL_KERNEL_CACHE": "0"}
    names_pocl = any("pocl" in description(file) for file in registered())
    if not names_pocl and locate(POCL) is not None:
        settings["POCL_DEVICES"] = BOTH_DEVICES
    if "POCL_CACHE_DIR" not in os.environ and not is_private(pocl_folder()):
        settings["POCL_CACHE_DIR"] = temporary_folder()
    return environment(**settings)


@cache
def attach(runtime: EmbeddedRuntime, library: Path) -> tuple[cl.Platform, ...]:
    """The platforms of an embedded runtime, whether or not the loader lists them; OSError if it cannot be loaded.

    A process asks once: a library stays loaded, and each question would leave some kilobytes behind.
    """
    with _guard.lock:
        for distribution, name in runtime.needs:
            needed = _file(distribution, name)
            if needed is not None:
                _loaded.append(ctypes.CDLL(str(needed)))
        _loaded.append(ctypes.CDLL(str(library)))
        return tuple([cl.Platform.from_int_ptr(handle) for handle in _platform_handles(_loaded[-1])])


_guard = ForkGuard()
_loaded: list[ctypes.CDLL] = []


def _platform_handles(library: ctypes.CDLL) -> list[int]:
    """What `clIcdGetPlatformIDsKHR` of a runtime gives: the loader's own way to ask it."""
    library.clGetExtensionFunctionAddress.restype = ctypes.c_void_p
    library.clGetExtensionFunctionAddress.argtypes = [ctypes.c_char_p]
    address = library.clGetExtensionFunctionAddress(b"clIcdGetPlatformIDsKHR")
    if not address:
        return []
    handles = ctypes.POINTER(ctypes.c_void_p)
    ask = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, handles, ctypes.POINTER(ctypes.c_uint))(address)
    count = ctypes.c_uint(0)
    ask(0, None, ctypes.byref(count))
    found = (ctypes.c_void_p * count.value)()
    ask(count.value, found, None)
    return [handle for handle in found if handle]


@cache
def _file(distribution: str, name: str) -> Path | None:
    """The file of an installed distribution whose name matches, with links resolved."""
    try:
        listing = files(distribution) or []
    except PackageNotFoundError:
        return None
    found = (Path(str(file.locate())).resolve() for file in listing if file.match(name))
    return next((path for path in found if path.is_file()), None)
