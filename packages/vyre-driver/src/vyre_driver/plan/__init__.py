"""How is this program launched? Pure: a program, lengths and a configuration in, one plan out.

`specialize` is imported on its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
