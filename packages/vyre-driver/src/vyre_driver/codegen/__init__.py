"""Code generation: from a program to kernels, and from kernels to source.

`print_unit` is imported on its first use: a process that finds its code in the cache prints nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
