"""Work as a graph: dispatches, copies and loops recorded as one value, validated before anything runs.

What computes something of a graph is imported on its first use: a kernel only has to know a range of a graph when it
gets one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
