"""Backends in processes of their own, so that what kills one of them kills nothing else.

The names of the stub are imported on first use: such a process needs nothing of its parent's side.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
