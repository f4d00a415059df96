"""The CPUs of this process."""

from __future__ import annotations

import os
import sys


def usable_cpus() -> int:
    """The number of CPUs that this process may use: its affinity, or from Python 3.13 on `PYTHON_CPU_COUNT`."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
