"""Observation: traces, shadows, evidence, metrics and diagnostics.

`shadow`, `shadowed`, `trace` and `writing` are imported on their first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
