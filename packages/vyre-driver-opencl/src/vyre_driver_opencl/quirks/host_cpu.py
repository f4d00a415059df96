"""A CPU name for the embedded PoCL, whose compiler is older than some of the CPUs that it meets.

PoCL hands the CPU name that its LLVM has detected to its compiler. For a CPU that LLVM does not know the name is
"generic", which the compiler refuses: then not one kernel builds, and no option or variable sets another name. The
device keeps the name as a text on the heap, so a name that fits into those eight bytes is written over it. Nothing is
touched unless the device reports the bad name itself and exactly one pointer of the device leads to that text.

Memory is read through the kernel, which refuses a wild address instead of ending the process.

Compiler: PoCL 3.0-rc2 with LLVM 14, on CPUs that LLVM 14 does not know. `clinfo` then names a CPU `generic`.
"""

from __future__ import annotations

import os
import struct
from functools import cache
from pathlib import Path

import pyopencl as cl

from vyre_driver_opencl import about

UNKNOWN = b"generic\0"
MEMORY, CPU_INFO = Path("/proc/self/mem"), Path("/proc/cpuinfo")
DEVICE_BYTES = 1024
"""What a device takes, and the next one follows it; the text's pointer lies at 640."""

NAMES = (
    ("knl", "avx512f avx512cd avx2 bmi1 bmi2 fma f16c movbe abm adx"),
    ("znver3", "avx2 bmi1 bmi2 fma f16c movbe abm adx sse4a"),
    ("haswell", "avx2 bmi1 bmi2 fma f16c movbe abm"),
    ("x86-64", "sse2"),
)
"""CPU names of at most seven letters, best first, with the flags that a CPU must have to run their code.

The first is the only one that fits, and makes this compiler take vectors of 64 bytes where they pay: all others with
AVX-512 prefer 32. What that CPU has beside the flags (ER, PF) is emitted for intrinsics only.
"""


def name_host_cpu(device: cl.Device) -> str | None:
    """Give a device that does not know its CPU the best name that this CPU can run: that name, or None if untouched."""
    if not _is_unknown(device):
        return None
    name = _host_name()
    try:
        return name if name is not None and _overwrite(device.int_ptr, name) else None
    except OSError:  # a hardened system keeps a process from its own memory
        return None


def assumed_cpu(device: cl.Device) -> str:
    """The name that this device has got here, "" for one that knows its CPU: its compiler's code depends on it."""
    return _host_name() or "" if _is_unknown(device) else ""


def _is_unknown(device: cl.Device) -> bool:
    return about.is_pocl(device) and device.version.endswith("-generic") and MEMORY.exists()


@cache
def _host_name() -> str | None:
    return fitting_name(CPU_INFO.read_text("utf-8", "replace"))


def fitting_name(cpu_info: str) -> str | None:
    """The best of `NAMES` for the CPU that Linux describes so."""
    lines = (line.split(":", 1) for line in cpu_info.splitlines() if line.startswith("flags"))
    flags = frozenset(next(lines, ["", ""])[1].split())
    return next((name for name, needed in NAMES if flags.issuperset(needed.split())), None)


def _overwrite(device: int, name: str) -> bool:
    """Write `name` over the text that the device at this address points to, if there is exactly one."""
    memory = os.open(MEMORY, os.O_RDWR)
    try:
        places = _pointers_to(memory, device, UNKNOWN)
        if len(places) == 1:
            os.pwrite(memory, name.encode().ljust(len(UNKNOWN), b"\0"), places[0])
        return len(places) == 1
    finally:
        os.close(memory)


def _pointers_to(memory: int, start: int, text: bytes) -> list[int]:
    """The distinct addresses of `text` that pointers in the bytes from `start` on lead to."""
    words = _read(memory, start, DEVICE_BYTES)
    addresses = {address for (address,) in struct.iter_unpack("=Q", words[: len(words) // 8 * 8])}
    return [address for address in sorted(addresses) if _read(memory, address, len(text)) == text]


def _read(memory: int, address: int, size: int) -> bytes:
    try:
        return os.pread(memory, size, address)
    except (OSError, OverflowError):
        return b""
