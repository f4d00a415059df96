"""vyre on a Dask cluster: one dispatch over many workers, with the same bytes.

The stub beside this file lists the public names. Each is imported on its first use.
"""

from importlib import import_module

import lazy_loader

import vyre_foundation  # noqa: F401 - all of it, before any part, as other threads may be importing it

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        return _load(name)
    others = {}
    if not name.startswith("_") and hasattr(import_module("dask.array"), name):
        others[name] = f"call dask.array.{name}, whose bytes may depend on the chunks"
    raise import_module("vyre_algorithms.numpy_names").missing(__name__, name, __all__, others)
