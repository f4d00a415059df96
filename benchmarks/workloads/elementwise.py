"""One result for each element."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import programs
from programs.elementwise import COEFFICIENTS, MAX_ROUNDS
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


def escape_time(n: int) -> Work:
    """Points of the plane row by row, so that neighbours often leave together."""
    side = round(n**0.5)
    x, y = (array.ravel() for array in np.meshgrid(_steps(-2.0, 0.5, side), _steps(-1.25, 1.25, side)))
    rounds = escaped(x, y)
    work = _work(programs.escape_time(), "escape_time", rounds, 0, x=x, y=y)
    total = float(rounds.sum(dtype=np.uint64))
    return replace(work, amount=total, operations=9 * total)


def _steps(low: float, high: float, count: int) -> Array:
    return np.linspace(low, high, count, dtype=np.float32)


def escaped(x: Array, y: Array) -> Array:
    """All points in step; those that have left keep what they have."""
    a, b, rounds = x.copy(), y.copy(), np.zeros(x.shape, np.uint32)
    for _ in range(MAX_ROUNDS):
        aa, bb = a * a, b * b
        stays = aa + bb <= 4
        rounds += stays
        b, a = np.where(stays, a * b * 2 + y, b), np.where(stays, aa - bb + x, a)
    return rounds


WORKLOADS = {
    "copy": Workload(domain="elementwise", unit="GB/s", size=N, toy=GROUP, make=copy),
    "xor": Workload(domain="elementwise", unit="GB/s", size=N, toy=GROUP, make=xor),
    "saxpy": Workload(domain="elementwise", unit="GB/s", size=N, toy=GROUP, make=saxpy),
    "polynomial": Workload(domain="elementwise", unit="GFLOP/s", size=N, toy=GROUP, make=polynomial),
    "escape time": Workload(domain="elementwise", unit="Ground/s", size=2**20, toy=2**10, make=escape_time),
}
