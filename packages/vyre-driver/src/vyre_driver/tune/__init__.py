"""What is faster here? Measured, and kept with the device.

`variants`, which needs the optimizer, is imported on its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
