"""The evaluators that define what a vyre program means, and the reference backend.

The stub beside this file lists the public names. Each is imported on its first use.
"""

import lazy_loader

import vyre_foundation  # noqa: F401 - whole, before a part: threads may import packages of vyre at once

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
