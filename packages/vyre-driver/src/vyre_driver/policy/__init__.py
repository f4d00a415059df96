"""Should this be done? Pure decisions: facts and thresholds in, a verdict with a reason out.

`native` is imported on its first use: it judges functions only where a dispatch has an error budget.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
