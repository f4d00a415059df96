"""vyre: write a data-parallel program once; run it on any installed backend with byte-identical results.

    import vyre as vy

    with vy.program("xor", workgroup_size=64) as p:
        a, b = p.read("a", vy.u32), p.read("b", vy.u32)
        out = p.write("out", vy.u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] ^ b[i]

    vy.run(p.build(), a=x, b=y)["out"]

`help(vy.kernel)` is the other way to write a program; docs/tutorial.md leads through both.
"""

from importlib import import_module

import lazy_loader

import vyre_foundation  # noqa: F401 - all of it, before any part, as other threads may be importing it
from vyre import overloads as _overloads
from vyre_foundation import *  # noqa: F403
from vyre_foundation import __all__ as _language
from vyre_foundation.functions import *  # noqa: F403
from vyre_foundation.functions import __all__ as _functions
from vyre_math import *  # noqa: F403
from vyre_math import __all__ as _elementary

__version__ = "0.1.0"

max, min = _overloads.max, _overloads.min

_running = [
    "DispatchConfig",
    "VyreBackend",
    "backend_for",
    "check",
    "explain",
    "graph",
    "grid_for",
    "profile",
    "progress",
    "registered_backends_by_precedence",
    "run",
    "tune",
]
_errors = ["DataRace", "DispatchTimeout", "InvalidGraph", "InvalidInput", "InvalidLaunch", "Trapped"]
_arrays = ["DeviceArray", "StructArray", "array", "asarray", "empty", "zeros"]
_kernels = {
    "kernels.aggregates": ["Struct", "Vec2", "Vec3", "Vec4", "struct"],
    "kernels.annotations": ["InOut", "Out"],
    "kernels.device": ["func"],
    "kernels.errors": ["KernelError"],
    "kernels.intrinsics": [
        "barrier",
        "bounded",
        "cross",
        "dot",
        "global_id",
        "grid_barrier",
        "index",
        "length",
        "local_id",
        "normalize",
        "num_workgroups",
        "private",
        "subgroup",
        "subgroup_lane",
        "trap",
        "vec",
        "workgroup",
        "workgroup_id",
    ],
    "kernels.kernel": ["KernelFunction", "kernel"],
}

_modules = ["algorithms"]
# Those of `vyre_algorithms` that the language has no other meaning for.
_algorithms = [
    "Runs",
    "TopK",
    "Unique",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "bincount",
    "blake3",
    "compact",
    "connected_components",
    "convolve",
    "coo",
    "correlate",
    "crc32",
    "csr",
    "cumprod",
    "cumsum",
    "exact_dot",
    "exact_sum",
    "fft",
    "find_all",
    "gather",
    "histogram",
    "ifft",
    "irfft",
    "kmeans",
    "matmul",
    "matrix_transpose",
    "mean",
    "normal",
    "pagerank",
    "partition",
    "philox",
    "prod",
    "reduce",
    "repeat",
    "rfft",
    "run_length",
    "sample",
    "scan",
    "scatter",
    "searchsorted",
    "segmented_reduce",
    "segmented_scan",
    "sha256",
    "shuffle",
    "sort",
    "sort_pairs",
    "spmv",
    "std",
    "stencil",
    "sum",
    "take_along_axis",
    "threefry",
    "top_k",
    "transpose",
    "uniform",
    "unique",
    "unique_all",
    "var",
]

_lazy = [*_running, *_errors, *_arrays, *_algorithms, *(name for names in _kernels.values() for name in names)]

__all__ = [*_modules, *_lazy, *_language, *_functions, *_elementary]

# The names that run programs are imported on first use: neither recording a program nor `vyre --help` needs them.
_load, _, _ = lazy_loader.attach(
    __name__,
    submodules=_modules,
    submod_attrs={
        "algorithms": _algorithms,
        "arrays": _arrays,
        "errors": _errors,
        "execution": [name for name in _running if name not in ("explain", "graph", "profile", "progress")],
        "graphs": ["graph"],
        "profiles": ["explain", "profile"],
        "bars": ["progress"],
        **_kernels,
    },
)


def __getattr__(name: str) -> object:
    if name in _lazy or name in _modules:
        return _load(name)
    others = import_module("vyre.kernel_names").KERNELS
    raise import_module("vyre_algorithms.numpy_names").missing(__name__, name, __all__, others)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
