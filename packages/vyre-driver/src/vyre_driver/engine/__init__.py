"""The one dispatch path, over a port with six primitives.

The modules of the stub are imported on first use: a process that finds its code in the cache needs no `lowering`, and
few need code ahead of time, sequences or traces.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
