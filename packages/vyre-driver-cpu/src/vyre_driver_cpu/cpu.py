"""The CPU that code is made for: its model and features, as LLVM knows them.

Code is never run on a CPU that lacks a feature it was compiled with: both are part of the identity by which compiled
code is stored, and each piece of code names what it needs.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

import llvmlite
import llvmlite.binding as llvm

from vyre_driver.errors import BackendUnavailable
from vyre_foundation.locks import forks_wait_for

llvm_lock = threading.RLock()
"""Held during calls of LLVM, also those that free what it gave."""
forks_wait_for(llvm_lock)

COMPILER = f"llvmlite {llvmlite.__version__} LLVM {'.'.join(map(str, llvm.llvm_version_info))}"
"""What compiles, for the identity of compiled code."""
_TUNING = "prefer-no-scatter"
"""What LLVM is told about the speed of x86-64 CPUs. Scattered stores of a vector take longer than as many plain ones:
40 cycles for 16 elements on Zen 4, 20 on Intel's."""
_WIDE = frozenset(
    {
        *("icelake-client", "icelake-server", "rocketlake", "tigerlake"),
        *("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"),
    }
)
"""Intel's CPUs with 512-bit vectors since Ice Lake, for which LLVM prefers 256 bits. On an Emerald Rapids a sum over 64
MiB takes 0.9 times as long with 512 bits, and a product of matrices 0.75 times. The others were not measured."""
_STREAM_BITS = 256
"""Of a vector in a loop that memory limits: with 512 bits, Zen 4 needs a sixth more time for a sum of an array."""
_GATHERING = frozenset({"sapphirerapids", "emeraldrapids"})
"""CPUs on which a gather takes less time than as many plain loads.

Nanoseconds for 16 elements of 32 bits in the cache of level 1, by a gather and by loads: Emerald Rapids 5 and 11, Ice
Lake 9 and 7. The cores of a Sapphire Rapids are nearly those of an Emerald Rapids. Other CPUs were not measured.
"""
_STORING = frozenset({"sapphirerapids", "emeraldrapids"})
"""CPUs on which non-temporal stores of results that do not fit in the caches take less time.

A copy of 64 MiB takes 0.72 of the time on an Emerald Rapids, a copy and a sum of its result 0.82. Others were not
measured; the cores of a Sapphire Rapids are nearly the same.
"""
_V2 = "cx16 popcnt sahf sse3 ssse3 sse4.1 sse4.2"
_V3 = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
_V4 = f"{_V3} avx512bw avx512cd avx512dq avx512f avx512vl"
"""Features of the levels of the x86-64 psABI, by their LLVM names."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU, as LLVM names it.

    `triple` is its architecture and system, `features` what is switched on or off (``+avx2,-sse4a``).
    """

    triple: str
    model: str
    features: str

    @property
    def enabled(self) -> tuple[str, ...]:
        """The features that are on, by their LLVM names."""
        return tuple(feature[1:] for feature in self.features.split(",") if feature.startswith("+"))

    def has(self, feature: str) -> bool:
        """Whether a feature is on, by its LLVM name."""
        return feature in self.enabled

    @property
    def is_x86(self) -> bool:
        """Whether it is an x86-64 CPU."""
        return self.triple.startswith("x86_64")

    @property
    def converts_half(self) -> bool:
        """Whether it converts between f16 and f32 in one instruction, and LLVM makes code for all that f16 is used in.

        For x86-64 without it LLVM calls a library. For arm64 without arithmetic in f16 it ends the process at a
        selection by a carry.
        """
        return self.has("f16c" if self.is_x86 else "fullfp16")

    @property
    def has_fast_gathers(self) -> bool:
        """Whether a gather takes less time than as many plain loads."""
        return self.model in _GATHERING and self.has("avx512bw")

    @property
    def has_fast_nontemporal_stores(self) -> bool:
        """Whether a result that does not fit in the caches is stored faster if it bypasses them."""
        return self.model in _STORING and self.vector_bits == 512

    @property
    def of_optimizer(self) -> Cpu:
        """This CPU for LLVM's optimizer, which makes gathers unless it is told not to."""
        is_slow = self.is_x86 and not self.has_fast_gathers
        return replace(self, features=f"{self.features},+prefer-no-gather") if is_slow else self

    @property
    def vector_bits(self) -> int:
        """The size of a register for vectors."""
        return 512 if self.has("avx512bw") else 256 if self.has("avx2") else 128

    @property
    def stream_bits(self) -> int:
        """The size of a vector in a loop that memory limits."""
        return self.vector_bits if self.model in _WIDE else min(_STREAM_BITS, self.vector_bits)

    def lacks(self, other: Cpu) -> tuple[str, ...]:
        """What code for `other` needs that this CPU does not have: architecture and system, or features."""
        if _kind(self.triple) != _kind(other.triple):
            return (other.triple,)
        here = {_TUNING, *self.enabled}
        return tuple(feature for feature in other.enabled if feature not in here)


def _kind(triple: str) -> tuple[str, str]:
    """Architecture and system; each has its format of object code."""
    architecture, _, rest = triple.partition("-")
    system = next((s for s in ("linux", "darwin", "macos", "windows") if s in rest), rest)
    return architecture.replace("arm64", "aarch64"), system.replace("macos", "darwin")


@cache
def host() -> Cpu:
    """The CPU of this process. On Windows, too, code has the format ELF, as llvmlite's own code in memory has there."""
    with llvm_lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features().flatten()
        return tuned(Cpu(f"{triple}-elf" if "windows" in triple else triple, llvm.get_host_cpu_name(), features))


def tuned(cpu: Cpu) -> Cpu:
    """The CPU with what LLVM is to know about its speed."""
    tuning = f"+{_TUNING},-prefer-256-bit" if cpu.model in _WIDE else f"+{_TUNING}"
    return replace(cpu, features=f"{cpu.features},{tuning}") if cpu.is_x86 else cpu


def _with(triple: str, model: str, features: str = "") -> Cpu:
    return tuned(Cpu(triple, model, ",".join(f"+{feature}" for feature in features.split())))


_X86, _ARM, _APPLE = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "arm64-apple-darwin"
_WINDOWS = "x86_64-pc-windows-msvc-elf"
NAMED = MappingProxyType({
    "x86-64":            _with(_X86, "x86-64"),
    "x86-64-v2":         _with(_X86, "x86-64-v2", _V2),
    "x86-64-v3":         _with(_X86, "x86-64-v3", _V3),
    "x86-64-v4":         _with(_X86, "x86-64-v4", _V4),
    "armv8":             _with(_ARM, "generic", "neon"),
    "apple-m1":          _with(_APPLE, "apple-m1", "neon fullfp16"),
    "windows-x86-64":    _with(_WINDOWS, "x86-64"),
    "windows-x86-64-v3": _with(_WINDOWS, "x86-64-v3", _V3),
})  # fmt: skip
"""CPUs that code ahead of time is offered for, wherever it is made, under Linux where the name has no system."""


def named(name: str) -> Cpu:
    """One of `NAMED`, or ``host``; `BackendUnavailable` where this build of LLVM cannot make code for it."""
    if name == "host":
        return host()
    cpu = NAMED[name]
    try:
        with llvm_lock:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
            llvm.Target.from_triple(cpu.triple)
    except RuntimeError as error:
        fix = "install an llvmlite that has this target"
        raise BackendUnavailable("cpu", f"LLVM makes no code for {cpu.triple}: {error}", fix=fix) from error
    return cpu


def memory_bytes() -> int | None:
    """The memory of this machine; None where the system does not say."""
    if sys.platform == "win32":
        return None
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
