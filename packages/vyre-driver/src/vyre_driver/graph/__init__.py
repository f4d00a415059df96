"""Graphs: dispatches, copies and loops that are recorded as one value, and validated before anything runs.

Modules that process graphs are imported on first use. Kernels need only the type of a range, to recognize one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
