"""How far off a device's own elementary function is, and how fast: the programs that show it, and their reading.

The exact function is its own judge: the device computes both for every f32 there is, and their distance in
representable values. A program has both because its exact one is expanded already, and the call that is left means the
device's own function wherever the budget is `ANY_ERROR`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.results import TimedDispatchResult
from vyre_driver.pipeline.compile import compile
from vyre_driver.policy.native import ALL_ARGUMENTS, ANY_ERROR, Measured
from vyre_foundation.build import Value, call, constant, program, select
from vyre_foundation.dialects import expand
from vyre_foundation.dtype import f32, u32
from vyre_foundation.functions import is_nan, max as maximum, min as minimum
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    import numpy.typing as npt

CHUNK = 2**24
"""Arguments of one dispatch."""
SAMPLE = 2**20
"""Elements that are timed, evenly spread over 0 … 1, where every elementary function has values."""
RUNS = 9
NATIVE = DispatchConfig(ulp_budget=ANY_ERROR)


def distances(op: str) -> Program:
    """``out[i]`` is how far the two functions are apart for the f32 with the bits ``first[0] + i * stride[0]``."""
    with program("distances", 256) as p:
        first, stride, out = p.read("first", u32, 1), p.read("stride", u32, 1), p.write("out", u32, CHUNK)
        x = (first[0] + p.global_id(0) * stride[0]).bitcast(f32)
        own = p.let(call(op, x))
        exact = p.let(Value(expand(call(op, x).expr, {})))
        out[p.global_id(0)] = _distance(own, exact)
    return p.build()


def _distance(a: Value, b: Value) -> Value:
    """In representable values; zeros are one value, and so are all NaNs."""
    x, y = (v.bitcast(u32) for v in (a, b))
    size, other = x & 0x7FFF_FFFF, y & 0x7FFF_FFFF
    same_side = (x ^ y) >> 31 == 0
    apart = select(same_side, maximum(size, other) - minimum(size, other), size + other)
    either, both = is_nan(a) | is_nan(b), is_nan(a) & is_nan(b)
    return select(either, select(both, constant(u32, 0), constant(u32, ANY_ERROR)), apart)


def values(op: str) -> Program:
    """``out[i] = op(x[i])``."""
    with program("values", 256) as p:
        x = p.read("x", f32)
        p.write("out", f32, like=x)[p.global_id(0)] = call(op, x[p.global_id(0)])
    return p.build()


def measure_native(
    backend: VyreBackend, op: str, *, stride: int = 1, progress: Callable[[float], None] = lambda done: None
) -> Measured:
    """Run both functions over all arguments, or those at every `stride`; `progress` hears which part is done.

    The backend must take its own function of f32 for any budget of `ANY_ERROR`, hence know nothing of it yet.
    """
    error = worst = arguments = 0
    for first, found in _chunks(compile(backend, distances(op), NATIVE), stride):
        arguments += found.size
        at = int(found.argmax())
        if found[at] > error:
            error, worst = int(found[at]), (first + at * stride) % 2**32
        progress(arguments * stride / ALL_ARGUMENTS)
    native, exact = (compile(backend, values(op), config) for config in (NATIVE, DEFAULT_CONFIG))
    native_ps, exact_ps = _times(native, exact)
    return Measured(error=error, worst=worst, arguments=arguments, native_ps=native_ps, exact_ps=exact_ps)


def _chunks(pipeline: CompiledPipeline, stride: int) -> Iterator[tuple[int, npt.NDArray[np.uint32]]]:
    """The first argument of each dispatch, and the distances of those that were not there before."""
    total = -(-ALL_ARGUMENTS // stride)
    for start in range(0, total, CHUNK):
        first = start * stride
        outputs = pipeline.dispatch([np.array([first], np.uint32), np.array([stride], np.uint32)])
        yield first, np.frombuffer(outputs[0], np.uint32)[: total - start]


def _times(*pipelines: CompiledPipeline) -> list[float]:
    """Picoseconds for one element of each, by the device's clock where it has one, in turns."""
    x = np.linspace(0, 1, SAMPLE, dtype=np.float32)
    runs: list[list[float]] = [[] for _ in pipelines]
    for _ in range(RUNS):
        for pipeline, times in zip(pipelines, runs, strict=True):
            times.append(_nanoseconds(pipeline.dispatch_timed([x])) * 1000 / SAMPLE)
    return [float(np.median(times[2:])) for times in runs]


def _nanoseconds(result: TimedDispatchResult) -> Any:
    return result.wall_ns if result.device_ns is None else result.device_ns
