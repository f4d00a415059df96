"""Algorithms over arrays whose results are the same bits on every backend.

    from vyre_algorithms import sort, sum

    total = sum(x)  # the order of the additions is part of the definition
    ascending = sort(x)

The stub beside this file lists the public names. Each is imported on its first use.
"""

from importlib import import_module

import lazy_loader

import vyre_foundation  # noqa: F401 - all of it, before any part, as other threads may be importing it

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name in __all__:
        return _load(name)
    raise import_module("vyre_algorithms.numpy_names").missing(__name__, name, __all__)
