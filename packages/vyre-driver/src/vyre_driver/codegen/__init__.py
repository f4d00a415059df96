"""Code generation: from a program to kernels, and from kernels to source.

`print_unit` is imported on its first use. A process that finds its code in the cache does not need it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
