"""Whether every schedule gives the same outputs: a proof, or the statements at which it fails.

`find_determinism` is imported on its first use: most processes run programs without asking.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
