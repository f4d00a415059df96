from ._version import __version__ as __version__
from .backend import DaskBackend as DaskBackend
from .chunked import (
    all as all,
    any as any,
    bincount as bincount,
    exact_sum as exact_sum,
    histogram as histogram,
    max as max,
    min as min,
    prod as prod,
    reduce as reduce,
    sum as sum,
)
from .files import from_npy as from_npy
from .mapped import map_blocks as map_blocks
from .matrix import matmul as matmul
from .overlap import map_overlap as map_overlap
from .registrations import registration as registration
from .scans import cumprod as cumprod, cumsum as cumsum, scan as scan
from .seen import ClusterActivity as ClusterActivity, TaskCost as TaskCost, trace_workers as trace_workers
from .shards import (
    Shard as Shard,
    Sharding as Sharding,
    Span as Span,
    SplitRefusal as SplitRefusal,
    find_sharding as find_sharding,
)
from .sorts import sort as sort, top_k as top_k, unique as unique
