"""Compilation and the caches of compiled code.

The modules of the stub are imported on first use. A process that finds its code in the store needs neither eviction nor
the reasons of misses.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
