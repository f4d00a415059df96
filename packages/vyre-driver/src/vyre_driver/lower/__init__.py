"""Lowering: a program becomes kernels that a target can spell, and those become source.

The stub beside this file lists the public names. Each is imported on its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
