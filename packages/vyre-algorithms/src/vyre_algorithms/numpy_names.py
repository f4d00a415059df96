"""What functions of NumPy are called here, for those who look for them: the remedies of errors about missing names.

Some of libraries for machine learning are among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType, ModuleType

import numpy as np

import vyre_driver
import vyre_foundation.functions as operations
import vyre_math
from vyre_foundation import BuildError
from vyre_foundation.build.arguments import dtype_of

# fmt: off
ELEMENTS: Mapping[str, str] = {
    "absolute": "vyre.abs(x[i])", "arccos": "vyre.acos(x[i])", "arcsin": "vyre.asin(x[i])", "arctan": "vyre.atan(x[i])",
    "arctan2": "vyre.atan2(x[i], y[i])", "around": "vyre.round(x[i])", "bit_count": "vyre.popcount(n[i])",
    "bitwise_and": "n[i] & k[i]", "bitwise_count": "vyre.popcount(n[i])", "bitwise_not": "~n[i]",
    "bitwise_or": "n[i] | k[i]", "bitwise_xor": "n[i] ^ k[i]", "clip": "vyre.clamp(x[i], low, high)",
    "deg2rad": "vyre.radians(x[i])", "divide": "x[i] / y[i]", "equal": "x[i] == y[i]", "fabs": "vyre.abs(x[i])",
    "fix": "vyre.trunc(x[i])", "floor_divide": "vyre.floor_div(n[i], k[i])", "fmax": "vyre.max(x[i], y[i])",
    "fmin": "vyre.min(x[i], y[i])", "fmod": "x[i] - vyre.trunc(x[i] / y[i]) * y[i]",
    "greater": "x[i] > y[i]",
    "greater_equal": "x[i] >= y[i]", "invert": "~n[i]", "isfinite": "vyre.is_finite(x[i])",
    "isinf": "vyre.is_inf(x[i])", "isnan": "vyre.is_nan(x[i])", "left_shift": "n[i] << k[i]", "less": "x[i] < y[i]",
    "less_equal": "x[i] <= y[i]",
    "logical_and": "mask[i] & other[i]", "logical_not": "~mask[i]", "logical_or": "mask[i] | other[i]",
    "logical_xor": "mask[i] ^ other[i]", "maximum": "vyre.max(x[i], y[i])", "minimum": "vyre.min(x[i], y[i])",
    "mod": "vyre.floor_mod(n[i], k[i])", "multiply": "x[i] * y[i]", "negative": "-x[i]", "not_equal": "x[i] != y[i]",
    "power": "vyre.pow(x[i], y[i])", "rad2deg": "vyre.degrees(x[i])", "reciprocal": "1 / x[i]",
    "remainder": "vyre.floor_mod(n[i], k[i])", "right_shift": "n[i] >> k[i]", "rint": "vyre.round(x[i])",
    "square": "x[i] * x[i]", "subtract": "x[i] - y[i]", "true_divide": "x[i] / y[i]",
    "where": "vyre.select(mask[i], x[i], y[i])",
}
"""Functions of elements: what a kernel returns for the element ``i``."""
_OF_NUMBERS = "vyre.algorithms.select(x, lambda v: ~vyre.is_nan(v))"
_BELOW = "(vyre.uniform(key, size, vyre.f64) * {}).astype(numpy.int64)"
"""Integers from 0 that are below a number, all equally likely, some of them several times."""
ARRAYS: Mapping[str, str] = {
    "amax": "vyre.max(x)", "amin": "vyre.min(x)", "asnumpy": "a.numpy()", "astype": "x.astype(numpy.float64)",
    "average": "vyre.dot(x, w) / vyre.sum(w)", "choice": f"vyre.gather(x, {_BELOW.format('x.size')})",
    "compress": "vyre.compact(x, mask)", "copy": "x.copy()", "count_nonzero": "vyre.sum(x != 0)",
    "cummax": "vyre.scan(x, 'max')", "cummin": "vyre.scan(x, 'min')", "cumulative_prod": "vyre.cumprod(x)",
    "cumulative_sum": "vyre.cumsum(x)", "default_rng": "vyre.uniform(key, shape)",
    "diff": "vyre.correlate(x, numpy.array([-1, 1]).astype(x.dtype))",
    "digitize": "vyre.searchsorted(edges, x, 'right')",
    "empty_like": "vyre.empty(x.shape, x.dtype)", "extract": "vyre.compact(x, mask)",
    "fft2": "vyre.fft(vyre.fft(m, axis=1), axis=0)", "flatnonzero": "vyre.compact(numpy.arange(mask.size), mask)",
    "flip": "x[::-1]", "frompyfunc": "vyre.kernel(function)", "inner": "vyre.dot(x, y)",
    "integers": _BELOW.format("high"),
    "isin": "vyre.searchsorted(vyre.sort(y), x, 'right') > vyre.searchsorted(vyre.sort(y), x)",
    "jit": "vyre.kernel(function)",
    "lexsort": "vyre.gather(vyre.argsort(y), vyre.argsort(vyre.gather(x, vyre.argsort(y))))",
    "median": "vyre.mean(vyre.sort(x)[(x.size - 1) // 2 : x.size // 2 + 1])",
    **{f"nan{name}": f"vyre.{name}({_OF_NUMBERS})" for name in ("max", "mean", "min", "prod", "std", "sum", "var")},
    "nonzero": "vyre.compact(numpy.arange(mask.size), mask)", "norm": "vyre.dot(x, x) ** 0.5",
    "outer": "vyre.matmul(x.reshape(-1, 1), y.reshape(1, -1))", "permutation": "vyre.shuffle(x, key)",
    "permute_dims": "vyre.transpose(m, (1, 0))", "ptp": "vyre.max(x) - vyre.min(x)",
    "put": "vyre.scatter(x, indices, w)",
    "quantile": "numpy.interp(q * (x.size - 1), numpy.arange(x.size), vyre.sort(x))",
    "rand": "vyre.uniform(key, shape)", "randint": _BELOW.format("high"), "randn": "vyre.normal(key, shape)",
    "random": "vyre.uniform(key, shape)", "ravel": "m.reshape(-1)", "reshape": "x.reshape(1, -1)",
    "standard_normal": "vyre.normal(key, shape)", "swapaxes": "vyre.matrix_transpose(m)",
    "take": "vyre.gather(x, indices)", "union1d": "vyre.unique(numpy.append(x, y))",
    "unique_values": "vyre.unique(x)", "unique_counts": "vyre.unique_all(x)", "vdot": "vyre.dot(x, y)",
    "vecdot": "vyre.dot(x, y)", "vectorize": "vyre.kernel(function)", "zeros_like": "vyre.zeros(x.shape, x.dtype)",
}
"""Functions of arrays: what gives their result, or the nearest that there is."""
LEARNING: Mapping[str, str] = {
    **dict.fromkeys(("bernoulli", "dropout"), "compare vyre.uniform(key, x.shape) with the rate in a kernel"),
    "gelu": "write 0.5 * x[i] * (1.0 + vyre.tanh(0.79788456 * (x[i] + 0.044715 * x[i] * x[i] * x[i]))) in a kernel",
    "leaky_relu": "write vyre.select(x[i] < 0.0, slope * x[i], x[i]) in a kernel",
    "one_hot": "write vyre.select(n[i] == j, vyre.f32(1), 0.0) in a kernel, where i, j = vyre.index()",
    "relu": "write vyre.max(x[i], 0.0) in a kernel", "sigmoid": "write 1.0 / (1.0 + vyre.exp(-x[i])) in a kernel",
    **dict.fromkeys(("silu", "swish"), "write x[i] / (1.0 + vyre.exp(-x[i])) in a kernel"),
    "softplus": "write vyre.max(x[i], 0.0) + vyre.log1p(vyre.exp(-vyre.abs(x[i]))) in a kernel",
    **{name: f"call scipy.special.{name} on the host: functions of vyre take what it gives"
        for name in ("digamma", "erf", "erfc", "erfinv", "gammaln")},
    **dict.fromkeys(("cross_entropy", "log_softmax", "logsumexp", "nll_loss", "softmax"),
        "call vyre.max and vyre.sum with axis=-1 for the rows, and kernels with vyre.exp and vyre.log for elements"),
    **dict.fromkeys(("batch_norm", "layer_norm", "rms_norm"),
        "call vyre.mean and vyre.var with axis=-1 for the rows, and a kernel with vyre.sqrt for the elements"),
    **dict.fromkeys(("categorical", "multinomial"),
        "add -vyre.log(-vyre.log(u)) of u = vyre.uniform(key, x.shape) to logits in a kernel, and call vyre.argmax"),
    **dict.fromkeys(("bmm", "linear", "mm"), "write vyre.matmul(x, m)"),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), "write vyre.correlate(x, w)"),
    **dict.fromkeys(("embedding", "index_select"), "write vyre.gather(x, indices)"),
    **dict.fromkeys(("index_add", "scatter_add", "segment_sum"), "write vyre.scatter(x, indices, w, 'add')"),
    **dict.fromkeys(("manual_seed", "seed"), "pass a key, which is a number, to vyre.uniform(key, shape)"),
    **dict.fromkeys(("backward", "grad", "value_and_grad"), "write the gradient as kernels and functions of arrays"),
}
"""What to do instead of functions of libraries for machine learning."""
# fmt: on
FUNCTIONS: Mapping[str, str] = {
    name: found[1] for name, code in ELEMENTS.items() if (found := re.fullmatch(r"vyre\.(\w+)\([^()]*\)", code))
}
"""Those of elements that are one function of `vyre`, and what that is called."""


def missing(
    module: str, name: str, names: Iterable[str], others: Mapping[str, str] = MappingProxyType({})
) -> AttributeError:
    """The error for a name that a module does not have, beside the public `names` that it has.

    `others` are remedies for further names.
    """
    message = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("_"):
        message += f". Fix: {others.get(name) or _remedy(module, name, names)}"
    return AttributeError(message, name=name)


def _remedy(module: str, name: str, names: Iterable[str]) -> str:
    if name in ELEMENTS:
        return f"write {ELEMENTS[name]} in a kernel, where i = vyre.index()"
    if name in ARRAYS:
        return f"write {ARRAYS[name]}"
    if name in LEARNING:
        return LEARNING[name]
    if hasattr(operations, name) or hasattr(vyre_math, name):
        return f"write vyre.{name}(…) in a kernel"
    home = next((home for home in (np, np.linalg, np.fft) if name in home.__all__), None)
    if home is not None:
        return _of_numpy(home, name)
    if name in dir(vyre_driver):
        return f"import it: from vyre_driver import {name}"
    near = get_close_matches(name, list(names), 1, cutoff=0.75)
    meant = f"use {module}.{near[0]} if that is what it does, or " if near else ""
    return f"{meant}choose one of the names in dir({module})"


def _of_numpy(home: ModuleType, name: str) -> str:
    """What to do with a name that only NumPy has."""
    found, written = getattr(home, name), f"{home.__name__}.{name}"
    try:
        return f"use vyre.{dtype_of(found)}".replace("vyre.bool", "vyre.bool_")
    except BuildError as error:
        if isinstance(found, type) and issubclass(found, np.generic):
            return error.fix
    return f"call {written} on the host: functions of vyre take what it gives" if callable(found) else f"use {written}"
