"""Proof that vyre backends agree byte for byte: `prove(backend_ids, suite, seed)` gives a `Run`.

The stub beside this file lists the public names. Each is imported on its first use: the process of a worker needs
neither cases nor judges.
"""

import lazy_loader

import vyre_foundation  # noqa: F401 - all of it, before any part, as other threads may be importing it

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
