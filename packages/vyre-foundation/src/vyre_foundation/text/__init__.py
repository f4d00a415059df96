"""The readable form of programs (`.vyre`), printed and parsed without loss. `syntax` shows what it looks like.

The names of the stub are imported on first use: most processes read no text.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
