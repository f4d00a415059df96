"""PyOpenCL, imported once, late, and without caches of its own: no other module here imports it.

PyOpenCL decides at import whether it keeps compiled programs and generated call stubs on disk. A pipeline cache with
its own keys is above this package, so when this is the first import in the process, those are off. A process that has
imported PyOpenCL before has decided for itself; programs are built past that cache either way (see `compiler`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


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


with environment(PYOPENCL_NO_CACHE="1"):
    import pyopencl as cl

__all__ = ["cl", "environment"]
