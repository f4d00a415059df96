"""Whether this process may run code that it makes. LLVM ends a process that may not."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys


def refusal() -> str | None:
    """Why the system does not let this process make memory executable; None if it does. Windows is not asked."""
    if sys.platform == "win32":
        return None
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(address, ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_EXEC):
        return os.strerror(ctypes.get_errno())
    return None
