"""The implementation of the backend contract on a device port.

The modules of the stub are imported on first use. A process that finds its code in the cache does not need `lowering`,
and few processes need compilation ahead of time, sequences or traces.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
