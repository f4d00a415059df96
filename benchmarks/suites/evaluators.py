"""The evaluators that define what a program means, and interpreters of other projects: invocations a second.

Each peer gets as many invocations as it can take in a moment, at most `size`. vyre's evaluators are timed without
planning and without copies of the inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import programs
from harness import Case, NotHere, Peer, Scale, Trial
from programs import GROUP, KEY, U32
from records import Record
from report import Table, pivot, rate

from vyre_driver import DispatchConfig, plan_launch
from vyre_foundation import Program
from vyre_reference import scalar, vector
from vyre_reference.launch import Evaluator, host_memory

TITLE = "Reference evaluators"
CALLS = 20
PEERS = {
    "vyre, all lanes at once": Peer(modules=("vyre_reference",)),
    "vyre, one invocation at a time": Peer(modules=("vyre_reference",)),
    "Triton interpreter": Peer(modules=("triton",), environment={"TRITON_INTERPRET": "1"}),
    "Numba simulator": Peer(modules=("numba",), environment={"NUMBA_ENABLE_CUDASIM": "1"}),
    "NumPy by hand": Peer(modules=("numpy",)),
}
CASES = ("xor", "workgroup reduction", "histogram", "histogram, result used")
CLOCK = time.process_time
"""All of them have one thread, or let one run at a time."""
PATIENCE = 0.1
"""Seconds of a run beyond which its size is no longer raised."""

Kernel = Callable[[U32, U32], object]
"""From the input into the result."""


def cases(scale: Scale) -> list[Case]:
    return [Case(name, 65536 if scale is Scale.FULL else GROUP) for name in CASES]


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    match peer:
        case "vyre, all lanes at once":
            make = partial(_vyre, vector.evaluate, case.name)
        case "vyre, one invocation at a time":
            make = partial(_vyre, scalar.evaluate, case.name)
        case "Triton interpreter":
            make = partial(_trial, _triton(case.name), case.name)
        case "Numba simulator":
            make = partial(_trial, _numba(case.name), case.name)
        case _:
            make = partial(_trial, _numpy(case.name), case.name)
    size = GROUP
    while size < case.size and _seconds(make(size)) < PATIENCE:
        size = min(case.size, 4 * size)
    return {"": make(size)}


def _seconds(trial: Trial) -> float:
    trial.before()
    started = time.perf_counter()
    trial.run()
    return time.perf_counter() - started


def expected(name: str, x: U32) -> U32:
    match name:
        case "xor":
            return x ^ np.uint32(KEY)
        case "workgroup reduction":
            return programs.group_sums(x)
        case "histogram":
            return programs.counts(x)
        case _:
            return programs.earlier_equals(x)


# ── vyre ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _vyre(evaluate: Evaluator, name: str, size: int) -> Trial:
    x, groups = programs.words(size), size // GROUP
    plan = plan_launch(_program(name, groups), [x.nbytes], DispatchConfig(grid_override=(groups, 1, 1)))
    memory: dict[str, Any] = {}

    def before() -> None:
        memory.update(host_memory(plan, [memoryview(x).cast("B")], {}))

    def is_right() -> bool:
        return np.array_equal(np.frombuffer(memory["out"], np.uint32), expected(name, x))

    return Trial(before=before, run=lambda: evaluate(plan, memory), is_right=is_right, amount=float(size), clock=CLOCK)


def _program(name: str, groups: int) -> Program:
    match name:
        case "xor":
            return programs.xor()
        case "workgroup reduction":
            return programs.reduction(groups)
        case "histogram":
            return programs.histogram()
        case _:
            return programs.ranks()


# ── peers ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _trial(kernel: Kernel, name: str, size: int) -> Trial:
    x = programs.words(size)
    wanted = expected(name, x)
    out = np.zeros_like(wanted)

    def before() -> None:
        out[:] = 0

    return Trial(
        before=before,
        run=lambda: kernel(x, out),
        is_right=lambda: np.array_equal(out, wanted),
        amount=float(size),
        clock=CLOCK,
    )


def _numpy(name: str) -> Kernel:
    """What an evaluator could reach that knew the program as a whole."""
    return lambda x, out: np.copyto(out, expected(name, x))


class Memory:
    """An array as Triton's interpreter wants tensors: it asks for little more than the address."""

    dtype = "uint32"

    def __init__(self, array: U32) -> None:
        self._array = array
        self.untyped_storage = self.cpu = lambda: self
        self.new_empty = lambda *_, **__: self
        self.set_ = self.copy_ = lambda *_: None
        self.storage_offset = lambda: 0
        self.size, self.stride = lambda: array.shape, lambda: (1,)

    def data_ptr(self) -> int:
        return self._array.ctypes.data


def _triton(name: str) -> Kernel:
    from simulated_kernels import triton_kernels

    kernel = _one_of(triton_kernels(), name)
    return lambda x, out: kernel[(x.size // GROUP,)](Memory(x), Memory(out), GROUP)


def _numba(name: str) -> Kernel:
    from simulated_kernels import numba_kernels

    kernel = _one_of(numba_kernels(), name)

    def run(x: U32, out: U32) -> None:
        with np.errstate(over="ignore"):
            kernel[x.size // GROUP, GROUP](x, out)

    return run


def _one_of(kernels: dict[str, Any], name: str) -> Any:
    if name not in kernels:
        raise NotHere("not written for this peer")
    return kernels[name]


def tables(records: Sequence[Record]) -> list[Table]:
    shown = pivot(records, rows=("peer",), columns=("case",), show=partial(rate, scale=1e-6))
    return [shown.titled("million invocations a second of CPU time")]
