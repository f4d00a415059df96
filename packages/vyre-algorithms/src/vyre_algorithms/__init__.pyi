"""The public names of `vyre_algorithms`."""

from .blake import blake3 as blake3
from .choose import (
    Runs as Runs,
    Unique as Unique,
    compact as compact,
    partition as partition,
    run_length as run_length,
    select as select,
    unique as unique,
    unique_all as unique_all,
)
from .count import bincount as bincount, histogram as histogram
from .digest import crc32 as crc32, sha256 as sha256
from .exact import exact_dot as exact_dot, exact_sum as exact_sum
from .filters import convolve as convolve, correlate as correlate, stencil as stencil
from .matrix import (
    coo as coo,
    csr as csr,
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    spmv as spmv,
    transpose as transpose,
)
from .move import gather as gather, scatter as scatter, take_along_axis as take_along_axis
from .networks import connected_components as connected_components, kmeans as kmeans, pagerank as pagerank
from .patterns import find_all as find_all
from .random import (
    normal as normal,
    philox as philox,
    sample as sample,
    shuffle as shuffle,
    threefry as threefry,
    uniform as uniform,
)
from .reductions import (
    all as all,
    any as any,
    argmax as argmax,
    argmin as argmin,
    dot as dot,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    reduce as reduce,
    segmented_reduce as segmented_reduce,
    std as std,
    sum as sum,
    var as var,
)
from .repeats import repeat as repeat
from .scans import cumprod as cumprod, cumsum as cumsum, scan as scan, segmented_scan as segmented_scan
from .search import TopK as TopK, searchsorted as searchsorted, top_k as top_k
from .sorts import argsort as argsort, sort as sort, sort_pairs as sort_pairs
from .spectra import fft as fft, ifft as ifft, irfft as irfft, rfft as rfft

__version__: str
