"""OpenCL as PyOpenCL's extension module has it, and PyOpenCL itself on demand; no other module here imports either.

``import pyopencl`` takes 45 ms, of which the extension, where all objects of OpenCL are, takes 2. So a stand-in takes
the place of the package, which the import of the extension does not run, and it gives way to the package when somebody
asks for something in it ([record 0042](../../../../docs/decisions/0042-the-extension-alone.md)). Everybody in a process
has the same extension, and whoever imports PyOpenCL decides what it keeps on disk: programs are built past that (see
`compiler`).

What is Python around the extension is missed in three places. Objects have no attributes for what OpenCL knows of them:
`about` asks. Errors have no text: `errors` reads. And for each kernel the extension wants code from PyOpenCL that calls
it: `new_kernel` makes those that nobody calls.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

PACKAGE = "pyopencl"
EXTENSION, INVOKER = f"{PACKAGE}._cl", f"{PACKAGE}.invoker"


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


class OnDemand(ModuleType):
    """A package that is found, and imported when it is asked for a name. Until then its modules can be imported."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        self.__spec__, self.__file__, self.__path__ = spec, spec.origin, spec.submodule_search_locations or []

    def __getattr__(self, name: str) -> Any:
        with _lock:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


_lock = threading.Lock()
_nobody_calls = ModuleType(INVOKER, "Stands in for the module that generates code to call kernels.")
_nobody_calls.generate_enqueue_and_set_args = lambda *_, **__: (None, None)  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from pyopencl import _cl as cl
else:
    if PACKAGE not in sys.modules:
        sys.modules[PACKAGE] = OnDemand(PACKAGE)
    cl = import_module(EXTENSION)
    cl.Context.devices = property(lambda context: context.get_info(cl.context_info.DEVICES))  # asked for each kernel

HOME = os.path.dirname(cl.__file__)  # noqa: PTH120 - a text for a variable
"""Where the loader of OpenCL runtimes that comes with PyOpenCL looks for one that lies beside it."""


def new_kernel(program: cl._Program, name: str) -> cl.Kernel:
    """A kernel object of a built program, whose arguments are set one by one and which is enqueued, not called."""
    with _lock:
        if isinstance(sys.modules.get(PACKAGE), OnDemand):
            sys.modules[INVOKER] = _nobody_calls
            try:
                return cl.Kernel(program, name)
            finally:
                del sys.modules[INVOKER]
    return cl.Kernel(program, name)


__all__ = ["HOME", "cl", "environment", "new_kernel"]
