"""Finding installed dialects, reading manifests, and migrating programs to the present ops of dialects.

`discover` is imported on its first use: a program without calls needs no dialect.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
