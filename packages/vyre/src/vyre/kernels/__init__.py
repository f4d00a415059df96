"""Kernels: functions of Python that are compiled to programs from their source.

The source of a function is read once, node by node. What Python knows while it is read (numbers, tuples, closures,
modules) is computed then; arrays and their elements are values of the builder of `vyre_foundation.build`, which records
the program. So a kernel and a program that was recorded by hand mean the same, and have one fingerprint where they are
the same.

The names of the stub are imported on first use: few programs explain a kernel, or call it while they record a graph.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
