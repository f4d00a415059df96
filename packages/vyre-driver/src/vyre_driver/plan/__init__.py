"""Launch plans: pure functions from a program, lengths and a configuration to a plan.

`specialize` is imported on its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
