"""vyre on a Dask cluster: one dispatch over many workers, with the same bytes.

The stub beside this file lists the public names. Each is imported on its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
