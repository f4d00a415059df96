"""The CPU that code is made for: its name and features, as LLVM knows them.

`VYRE_CPU_TARGET` names another one than the host, for code that is only read. Code is never run on a CPU that lacks a
feature it was compiled with: both are part of the identity by which compiled code is stored.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

import llvmlite
import llvmlite.binding as llvm


@dataclass(frozen=True, slots=True)
class Machine:
    """`triple` names architecture and system, `cpu` the model, `features` what is switched on or off (``+avx2,-sse4a``)."""

    triple: str
    cpu: str
    features: str

    def has(self, feature: str) -> bool:
        """Whether a feature is on, by its LLVM name."""
        return f"+{feature}" in self.features.split(",")

    @property
    def is_x86(self) -> bool:
        """Whether it is an x86-64 CPU."""
        return self.triple.startswith("x86_64")

    @property
    def converts_half(self) -> bool:
        """Whether it converts between f16 and f32 in one instruction, as LLVM prints it without a library."""
        return self.has("f16c") if self.is_x86 else self.triple.startswith(("aarch64", "arm64"))


COMPILER = f"llvmlite {llvmlite.__version__} LLVM {'.'.join(map(str, llvm.llvm_version_info))}"
"""What compiles, for the identity of compiled code."""


@cache
def host() -> Machine:
    """The CPU of this process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def memory_bytes() -> int | None:
    """The memory of this machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
