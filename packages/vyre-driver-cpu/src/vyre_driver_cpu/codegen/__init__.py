"""What makes code of a program: the CPU's own passes, the printer and the report on vectors.

The names of the stub are imported on first use: a process that finds its code in the cache needs none of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
