"""The one dispatch path, over a port with six primitives.

`lowering` is imported on its first use: a process that finds its code in the cache needs none of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
