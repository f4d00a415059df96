from ._version import __version__ as __version__
from .backend import DaskBackend as DaskBackend
from .registrations import registration as registration
from .shards import (
    Shard as Shard,
    Sharding as Sharding,
    Span as Span,
    SplitRefusal as SplitRefusal,
    find_sharding as find_sharding,
)
