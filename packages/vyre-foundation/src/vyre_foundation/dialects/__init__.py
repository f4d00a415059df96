"""Dialects: ops that are compositions of the language, registered under an id and expanded before lowering.

A composition is a function from expressions to an expression. It runs on every backend at once, because every backend
sees what it expands to. Distributions announce dialects through the entry point group ``vyre.dialects``; its values are
callables that return a `Dialect`, or plain `Composition` rows. Folders in `VYRE_DIALECT_PATH` hold more, as manifests.

The names of the stub are imported on first use: a program without calls needs none of it but the registry.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
