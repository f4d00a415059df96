from ._version import __version__ as __version__
from .backend import DaskBackend as DaskBackend
from .chunked import (
    all as all,
    any as any,
    bincount as bincount,
    exact_sum as exact_sum,
    histogram as histogram,
    map_blocks as map_blocks,
    map_overlap as map_overlap,
    max as max,
    min as min,
    prod as prod,
    sum as sum,
)
from .registrations import registration as registration
from .shards import (
    Shard as Shard,
    Sharding as Sharding,
    Span as Span,
    SplitRefusal as SplitRefusal,
    find_sharding as find_sharding,
)
