"""Elementary functions of f32: the exact ones of vyre beside the devices' own, which are not, and NumPy's.

Devices are timed by their own clock, with the data where they want it; NumPy has one thread and writes into an array
that exists. `NumPy, baseline` is as it was built, without what it has for newer CPUs. The evaluator is timed without
planning, and without copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from harness import Case, NotHere, Peer, Scale, Trial

# What this build has code for beyond its baseline. NumPy shows it only in text that it prints, and warns of names in
# NPY_DISABLE_CPU_FEATURES that it was not built for.
from numpy._core._multiarray_umath import __cpu_dispatch__ as DISPATCHED
from records import Record
from report import Table, per, pivot, with_best

from vyre_foundation import Program, call, f32, program

F32: TypeAlias = npt.NDArray[np.float32]

TITLE = "Elementary functions"
CALLS = 10
CL = ("vyre_driver_opencl", "vyre_math", "pyopencl")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
PEERS = {
    "vyre": Peer(modules=CL),
    "PoCL's own": Peer(modules=CL),
    "vyre, Intel": Peer(modules=CL),
    "Intel's own": Peer(modules=CL),
    "NumPy": Peer(modules=("numpy",), environment=ONE_THREAD),
    "NumPy, baseline": Peer(
        modules=("numpy",), environment=ONE_THREAD | {"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)}
    ),
    "vyre, evaluator": Peer(modules=("vyre_reference", "vyre_math")),
}
EVALUATED = 65536
"""Elements for the evaluator: its rate does not depend on how many more there are."""
GROUP = 256


@dataclass(frozen=True, slots=True)
class Function:
    """`ranges` of its arguments, by exponent of 2 where `is_by_exponent`; `numpy` writes into its last argument."""

    ranges: tuple[tuple[float, float], ...]
    numpy: Callable[..., Any]
    is_by_exponent: bool = False

    def inputs(self, size: int) -> list[F32]:
        """Random arguments, all over their ranges."""
        random = np.random.default_rng(1)
        drawn = [random.uniform(low, high, size) for low, high in self.ranges]
        return [(np.exp2(x) if self.is_by_exponent else x).astype(np.float32) for x in drawn]


def _exp10(x: F32, out: F32) -> F32:
    return np.power(np.float32(10), x, out)


def _rsqrt(x: F32, out: F32) -> F32:
    return np.divide(np.float32(1), np.sqrt(x, out), out)


POSITIVE = ((-125.0, 125.0),)
FUNCTIONS = {
    "exp": Function(((-87, 88),), np.exp),
    "exp2": Function(((-126, 127),), np.exp2),
    "exp10": Function(((-37, 38),), _exp10),
    "expm1": Function(((-10, 88),), np.expm1),
    "log": Function(POSITIVE, np.log, is_by_exponent=True),
    "log2": Function(POSITIVE, np.log2, is_by_exponent=True),
    "log10": Function(POSITIVE, np.log10, is_by_exponent=True),
    "log1p": Function(((-25, 25),), np.log1p, is_by_exponent=True),
    "sin": Function(((-100, 100),), np.sin),
    "cos": Function(((-100, 100),), np.cos),
    "tan": Function(((-100, 100),), np.tan),
    "asin": Function(((-1, 1),), np.arcsin),
    "acos": Function(((-1, 1),), np.arccos),
    "atan": Function(((-10, 10),), np.arctan),
    "sinh": Function(((-88, 88),), np.sinh),
    "cosh": Function(((-88, 88),), np.cosh),
    "tanh": Function(((-9, 9),), np.tanh),
    "rsqrt": Function(POSITIVE, _rsqrt, is_by_exponent=True),
    "cbrt": Function(POSITIVE, np.cbrt, is_by_exponent=True),
    "pow": Function(((0.1, 8), (-30, 30)), np.power),
    "hypot": Function(((-1, 1), (-1, 1)), np.hypot),
    "atan2": Function(((-1, 1), (-1, 1)), np.arctan2),
}


def cases(scale: Scale) -> list[Case]:
    return (
        [Case(name, 2**24) for name in FUNCTIONS] if scale is Scale.FULL else [Case("exp", 4096), Case("hypot", 4096)]
    )


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    function = FUNCTIONS[case.name]
    inputs = function.inputs(min(case.size, EVALUATED) if peer == "vyre, evaluator" else case.size)
    match peer:
        case "vyre":
            return {"": _vyre(case.name, inputs, "opencl")}
        case "vyre, Intel":
            return {"": _vyre(case.name, inputs, "opencl-intel")}
        case "PoCL's own":
            return {"": _own(case.name, inputs, "opencl")}
        case "Intel's own":
            return {"": _own(case.name, inputs, "opencl-intel")}
        case "vyre, evaluator":
            return {"": _evaluator(case.name, inputs)}
        case _:
            return {"": _numpy(case.name, inputs)}


def _right(name: str, inputs: Sequence[F32], ulps: float) -> Callable[[F32], bool]:
    """Whether a result is within `ulps` units in the last place of that in f64."""
    wide = np.empty(inputs[0].size)
    FUNCTIONS[name].numpy(*(x.astype(np.float64) for x in inputs), wide)

    def is_right(result: F32) -> bool:
        return bool((np.abs(result - wide) <= ulps * np.spacing(np.abs(wide.astype(np.float32)))).all())

    return is_right


def _program(name: str, operands: int) -> Program:
    with program(f"of_{name}", GROUP) as p:
        x = p.read("x", f32)
        given = [x, *(p.read(f"y{n}", f32, like=x) for n in range(1, operands))]
        out, i = p.write("out", f32, like=x), p.global_id(0)
        out[i] = call(f"math.{name}", *(buffer[i] for buffer in given))
    return p.build()


def _vyre(name: str, inputs: list[F32], backend: str) -> Trial:
    from vyre_driver import DispatchConfig, acquire, compile

    pipeline = compile(acquire(backend), _program(name, len(inputs)), DispatchConfig())
    is_right = _right(name, inputs, ulps=0.5 + 1e-6)
    twice = DispatchConfig(fixpoint_iterations=2)

    def run() -> float:
        nanoseconds = pipeline.dispatch_timed(inputs, twice).device_ns
        if nanoseconds is None:
            raise NotHere("the device has no clock")
        return nanoseconds / 2e9

    judge = lambda: is_right(np.frombuffer(pipeline.dispatch(inputs)[0], np.float32))
    return Trial(run=run, is_right=judge, amount=float(inputs[0].size))


def _own(name: str, inputs: list[F32], backend: str) -> Trial:
    import opencl
    import pyopencl as cl

    device = opencl.Device("elementary", backend)
    memory = [*map(device.upload, inputs), device.room(inputs[0].nbytes)]
    kernel, size = device.kernel(f"of_{name}", *memory), inputs[0].size
    is_right = _right(name, inputs, ulps=32)

    def run() -> float:
        event = cl.enqueue_nd_range_kernel(device.queue, kernel, (size,), (GROUP,))
        event.wait()
        return float(event.profile.end - event.profile.start) / 1e9

    run.memory = memory  # type: ignore[attr-defined] # a kernel does not keep its buffers alive
    judge = lambda: is_right(device.download(memory[-1], np.empty_like(inputs[0])))
    return Trial(run=run, is_right=judge, amount=float(size))


def _numpy(name: str, inputs: list[F32]) -> Trial:
    out, is_right = np.empty_like(inputs[0]), _right(name, inputs, ulps=32)
    run = partial(FUNCTIONS[name].numpy, *inputs, out)
    return Trial(run=run, is_right=lambda: is_right(out), amount=float(out.size))


def _evaluator(name: str, inputs: list[F32]) -> Trial:
    from vyre_driver import DispatchConfig, plan_launch
    from vyre_reference import vector
    from vyre_reference.launch import host_memory

    plan = plan_launch(_program(name, len(inputs)), [x.nbytes for x in inputs], DispatchConfig())
    memory: dict[str, Any] = {}

    def before() -> None:
        memory.update(host_memory(plan, [memoryview(x).cast("B") for x in inputs], {}))

    is_right = _right(name, inputs, ulps=0.5 + 1e-6)
    judge = lambda: is_right(np.frombuffer(memory["out"], np.float32))
    return Trial(before=before, run=lambda: vector.evaluate(plan, memory), is_right=judge, amount=float(inputs[0].size))


def tables(records: Sequence[Record]) -> list[Table]:
    shown = pivot(records, rows=("case",), columns=("peer",), show=with_best(partial(per, scale=1e9)))
    return [shown.titled("ns a result, median (best)")]
