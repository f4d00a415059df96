"""Policies: pure functions from facts and thresholds to a verdict with a reason.

`native` is imported on its first use. It is needed only for dispatches with an error budget.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
