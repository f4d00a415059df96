"""What is faster here? Measured, and kept with the device.

The modules of the stub are imported on first use: `variants` needs the optimizer, and most processes measure nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
