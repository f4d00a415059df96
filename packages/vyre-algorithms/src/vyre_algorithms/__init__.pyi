"""The public names of `vyre_algorithms`."""

from .reduce import (
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    dot as dot,
    max as max,
    min as min,
    prod as prod,
    segmented_reduce as segmented_reduce,
    sum as sum,
)

__version__: str
