"""Faults planted in the emitted LLVM IR: the random programs of these tests find each of them.

A fault changes what instructions compute, or for which lanes, and no address that is not guarded behind it, so that the
process survives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.port import SourceUnit
from vyre_driver.testing.agreement import outcome
from vyre_driver_cpu.launch import Module
from vyre_driver_cpu.port import CpuPort
from vyre_foundation import apply, f32, i32, program
from vyre_foundation.testing import EVERYTHING, addressing, generate
from vyre_foundation.testing.generator import GeneratedProgram
from vyre_reference import ReferenceBackend

FAULTS = {
    "lanes that do not load get 1": (
        r"(@llvm\.masked\.gather.*, <\d+ x (i\d+)>) zeroinitializer\)",
        r"\1 splat (\2 1))",
    ),
    "all lanes have the first lane's id": (r"<i32 0, i32 1, i32 2, [^>]*>$", "zeroinitializer"),
    "a branch is skipped unless all lanes take it": (
        r"(%\w+)( = bitcast <(?:4|8|16) x i1> \S+ to (i\d+)\n.* = icmp) ne i\d+ \1, 0",
        r"\1\2 eq \3 \1, -1",
    ),
    "workgroup memory is not zeroed": (r"(@llvm\.memset\S+\(ptr align 64 \S+, i8) 0,", r"\1 1,"),
    "counts of shifts lose a bit": (  # with one more they are poison, and what is computed with them may be any address
        r"and (i32|<\d+ x i32>) (%\w+), (splat \(i32 )?31(\)?)$",
        r"and \1 \2, \g<3>15\4",
    ),
    "ashr shifts zeros in": (r"\bashr\b", "lshr"),
    "signed integers are widened with zeros": (r"\bsext\b", "zext"),
    "-x is 0 - x": (r"\bfneg (\w+|<.*?>) ", r"fsub \1 zeroinitializer, "),
    "ties are rounded away from zero": (r"@llvm\.roundeven\.", "@llvm.round."),
    "a NaN is not found": (r"fcmp une (\w+|<.*?>) (%\w+), \2", r"fcmp one \1 \2, \2"),
    "products and sums are fused": (r"\b(fadd|fsub|fmul) ", r"\1 contract "),
    "float operations have no NaNs": (r"\b(fcmp|fadd|fmul) ", r"\1 nnan "),
    "atomics give back other values": (
        r"(%\w+) = atomicrmw (.*), (i\d+) (\S+) monotonic(.*)",
        r"\1.old = atomicrmw \2, \3 \4 monotonic\5\n  \1 = xor \3 \1.old, 1",
    ),
}

FIRST = {"counts of shifts lose a bit": 18, "ashr shifts zeros in": 10, "-x is 0 - x": 9}
"""The first seed to try, where the first programs do not find a fault."""


def rare() -> GeneratedProgram:
    """What random programs seldom have: fused products, ties, and loads out of bounds of some lanes."""
    values = np.random.default_rng(0).standard_normal(256).astype(np.float32)
    with program("rare", 64) as p:
        x, halves, table = p.read("x", f32), p.read("halves", f32), p.read("table", i32)
        fused, rounded = p.write("fused", f32, like=x), p.write("rounded", f32, like=x)
        found = p.write("found", i32, like=x)
        i = p.let(p.global_id(0))
        fused[i] = x[i] * x[i] + x[i]
        rounded[i] = apply("round", halves[i])
        total = p.var(0, i32)
        with p.range(0, i & 3) as k:
            total += table[(i * 7 + k) & 63]
        found[i] = total
    inputs = {"x": values, "halves": np.arange(256, dtype=np.float32) / 2, "table": np.arange(9, 49, dtype=np.int32)}
    bytes_of = {name: array.tobytes() for name, array in inputs.items()}
    return GeneratedProgram(seed=0, program=p.build(), inputs=bytes_of, grid=(4, 1, 1), iterations=1)


def drawn(first: int) -> Iterator[GeneratedProgram]:
    yield rare()
    for seed in range(first, first + 60):
        yield generate(seed, EVERYTHING)
        yield addressing(seed)


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=pytest.mark.slow if n % 3 else ()) for n, fault in enumerate(FAULTS)]
)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_CACHE", "off")
    pattern, planted = FAULTS[fault]
    was_planted = False

    class Port(CpuPort):
        def compile(self, unit: SourceUnit, queue: int = 0) -> Module:
            nonlocal was_planted
            text, count = re.subn(pattern, planted, unit.text, flags=re.MULTILINE)
            was_planted = count > 0
            return super().compile(replace(unit, text=text), queue)

    backend, reference = EngineBackend("cpu", Port, version="0"), ReferenceBackend()
    try:
        for case in drawn(FIRST.get(fault, 0)):
            inputs = [case.inputs[buffer.name] for buffer in case.program.inputs]
            config = DispatchConfig(grid_override=case.grid, fixpoint_iterations=case.iterations, timeout=60.0)
            found = outcome(backend, case.program, inputs, config)
            if was_planted and found != outcome(reference, case.program, inputs, config):
                return
    finally:
        backend.shutdown()
    pytest.fail("no program found it")
