"""Tuning: choices by measurement, which are stored with the device.

The modules of the stub are imported on first use. `variants` needs the optimizer, and most processes do not measure.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
