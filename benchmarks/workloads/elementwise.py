"""One result for each element."""

from __future__ import annotations

import numpy as np
import programs
from programs.elementwise import COEFFICIENTS
from programs.sizes import GROUP, KEY

from vyre_foundation import Program
from workloads.work import Array, Launch, Work, Workload

N = 2**24


def _work(program: Program, name: str, wanted: Array, operations: float, **inputs: Array) -> Work:
    n = wanted.size
    moved = float(wanted.nbytes + sum(array.nbytes for array in inputs.values()))
    return Work(
        program=program,
        grid=(n // GROUP, 1, 1),
        inputs=inputs,
        wanted=wanted,
        amount=operations * n if name == "polynomial" else moved,
        bytes=moved,
        operations=operations * n,
        sizes=(n,),
        launches=(Launch(name, (n // GROUP,), (GROUP,)),),
    )


def copy(n: int) -> Work:
    x = programs.words(n)
    return _work(programs.copy(), "copy", x, 0, x=x)


def xor(n: int) -> Work:
    x = programs.words(n)
    return _work(programs.xor(), "xor", x ^ np.uint32(KEY), 1, x=x)


def saxpy(n: int) -> Work:
    random = np.random.default_rng(1)
    x, y = random.random(n, np.float32), random.random(n, np.float32)
    return _work(programs.saxpy(), "saxpy", np.float32(2.5) * x + y, 2, x=x, y=y)


def polynomial(n: int) -> Work:
    x = np.random.default_rng(1).random(n, np.float32)
    return _work(programs.polynomial(), "polynomial", horner(x), 2 * (len(COEFFICIENTS) - 1), x=x)


def horner(x: Array) -> Array:
    value = np.full_like(x, COEFFICIENTS[-1])
    for coefficient in reversed(COEFFICIENTS[:-1]):
        value *= x
        value += np.float32(coefficient)
    return value


WORKLOADS = {
    "copy": Workload(domain="elementwise", unit="GB/s", size=N, toy=GROUP, make=copy),
    "xor": Workload(domain="elementwise", unit="GB/s", size=N, toy=GROUP, make=xor),
    "saxpy": Workload(domain="elementwise", unit="GB/s", size=N, toy=GROUP, make=saxpy),
    "polynomial": Workload(domain="elementwise", unit="GFLOP/s", size=N, toy=GROUP, make=polynomial),
}
