"""Dialects that exist in tests only, and the execution of what legalization gives.

`VYRE_ACCEPT=1 pytest packages/vyre-driver/tests/lowering` writes the goldens anew.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Extent
from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.dialect import CDialect
from vyre_driver.codegen.lower import legalize
from vyre_driver.codegen.operators import c_casts, c_operators
from vyre_driver.engine.launch import LaunchValues, SetCounter, counters_of, evaluate as bound, walk
from vyre_driver.errors import Trapped
from vyre_driver.legalization.lowered import Kernel, Lowered
from vyre_driver.legalization.schedule import COUNTERS, RUNS, TRAPS
from vyre_driver.legalization.target import Groups, Target
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, OutputLayout, plan_launch
from vyre_driver.plan.lengths import launch_lengths
from vyre_foundation.dtype import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    DType,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)  # fmt: skip
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import AtomicOp, Scope, SubgroupOp
from vyre_foundation.ops import OPS, Tier
from vyre_foundation.testing.goldens import check_golden
from vyre_foundation.validate import validate
from vyre_reference import vector

# ── dialects ──

TYPES = {
    bool_: "bool",
    u8: "u8", u16: "u16", u32: "u32", u64: "u64",
    i8: "i8", i16: "i16", i32: "i32", i64: "i64",
    f32: "float", f64: "double",
}  # fmt: skip
SUFFIXES = {bool_: "", u32: "u", u64: "ull", i32: "", i64: "ll", f32: "f", f64: ""}
COORDINATES = (IdKind.GLOBAL_ID, IdKind.LOCAL_ID, IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS)


def bitcasts(types: Iterable[DType]) -> dict[tuple[DType, DType], str]:
    pairs = [(a, b) for a in types for b in types if a is not b and a.bits == b.bits and bool_ not in (a, b)]
    return {(a, b): f"(({TYPES[b]}){{0}})" if a.is_integer and b.is_integer else f"as_{b}({{0}})" for a, b in pairs}


def plain(name: str, registers: tuple[DType, ...], memory: tuple[DType, ...]) -> CDialect:
    """C with `registers` for values and `memory` for elements."""
    types = {t: TYPES[t] for t in TYPES if t in registers or t in memory}
    atomic = [t for t in (u32, i32, u64, i64) if t in registers]
    return CDialect(
        name=name,
        types=types,
        literals={t: f"{{0}}{SUFFIXES[t]}" for t in registers},
        kernel="kernel void {name}({parameters})",
        parameters={
            (Memory.STORAGE, Access.READ): "const {type} *{name}",
            (Memory.STORAGE, Access.READ_WRITE): "{type} *{name}",
            (Memory.UNIFORM, Access.READ): "uniform {type} *{name}",
        },
        length_parameter="u32 {name}",
        workgroup="shared {type} {name}[{count}];",
        constant="static const {type} {name}[{count}] = {{{values}}};",
        ids={(kind, axis): f"{kind.value}({axis})" for kind in COORDINATES for axis in range(3)},
        ops=c_operators(registers),
        casts=c_casts(types),
        bitcasts=bitcasts(registers),
        barriers={Scope.WORKGROUP: "barrier();"},
        atomics={(op, t): f"atomic_{op.value}(&{{0}}, {'{1}, {2}' if op is AtomicOp.COMPARE_EXCHANGE else '{1}'})"
                 for op in AtomicOp for t in atomic},
    )  # fmt: skip


POOR = plain("poor", (bool_, u32, i32, f32), (u8, u16))
POOR = replace(POOR, ops={**POOR.ops, ("fma", f32): "fma_f32({0}, {1}, {2})"})
"""32 bits, and nothing else."""

BARE_OPS = frozenset("eq lt and or add sub mul raw_shl raw_shr raw_div raw_rem div xor".split())

SINGLE = plain("single", (bool_, u32, i32, u64, i64, f32), (u8, u16, i8, i16))
"""No f64, and nothing that f64 would give."""

BARE = replace(
    SINGLE,
    name="bare",
    ops={
        (op, t): template
        for (op, t), template in SINGLE.ops.items()
        if op in BARE_OPS and (op, t) != ("div", f32) and not (t is bool_ and op == "eq") and (t, op) != (i32, "xor")
    },
)
"""As few ops as can do all of integers and f32: what can be decomposed is not there."""

WIDE = plain("wide", (bool_, u32, i32, u64, i64, f32, f64), (u8, u16, i8, i16))
FULL = replace(
    WIDE,
    name="full",
    ops={
        **WIDE.ops,
        **{("sqrt", t): f"sqrt_{t}({{0}})" for t in (f32, f64)},
        **{("fma", t): f"fma_{t}({{0}}, {{1}}, {{2}})" for t in (f32, f64)},
    },
)
"""The types of 32 and 64 bits, operators, roots, and fused products."""

SHUFFLING = replace(
    FULL,
    name="shuffling",
    subgroup_sizes=frozenset((4, 8, 16, 32)),
    subgroups={(SubgroupOp.SHUFFLE, t): f"shuffle_{t}({{0}}, {{1}})" for t in (u32, u64)},
)
"""Two shuffles, and no other collective."""

VECTORS = replace(FULL, name="vectors", wide_indices=True, loop_versioning=True)
"""What has no checks is made vectors of."""

LOOPS = replace(VECTORS, name="loops", groups=Groups.LOOPS)
"""A workgroup is one work item."""

OPERANDS = {1: "{0}", 2: "{0}, {1}", 3: "{0}, {1}, {2}"}
RICH_TYPES = (bool_, *INTEGERS, f16, f32, f64)
RICH_NAMES = {**TYPES, f16: "half"}
RICH = replace(
    FULL,
    name="rich",
    types=RICH_NAMES,
    literals={**FULL.literals, u8: "{0}", u16: "{0}", i8: "{0}", i16: "{0}", f16: ""},
    ops={
        **c_operators(t for t in RICH_TYPES if t.bits >= 16),
        **{
            (op.id, t): f"{op.id}_{t}({OPERANDS[op.arity]})"
            for op in OPS.values()
            for t in op.accepts
            if op.tier is Tier.LANGUAGE and t in RICH_TYPES
        },
    },
    casts=c_casts(RICH_NAMES),
    bitcasts={**FULL.bitcasts, (u16, f16): "as_half({0})", (f16, u16): "as_u16({0})"},
    barriers={**FULL.barriers, Scope.GRID: "grid_barrier();"},
    subgroup_sizes=frozenset((1, 2, 4, 8, 16, 32, 64)),
    subgroups={
        (op, t): f"{op.value}_{t}({{0}}{', {1}' if op.takes_lane else ''})"
        for op in SubgroupOp
        for t in ((bool_,) if op in (SubgroupOp.ANY, SubgroupOp.ALL, SubgroupOp.BALLOT) else NUMBERS)
        if t in RICH_TYPES and not (t in FLOATS and op.combine in ("and", "or", "xor"))
    },
)
"""All that a target can have: narrow registers, f16, every op, collectives, a grid barrier."""

DIALECTS = {dialect.name: dialect for dialect in (POOR, SINGLE, BARE, WIDE, FULL, SHUFFLING, VECTORS, LOOPS, RICH)}


@pytest.fixture
def dialects() -> Mapping[str, CDialect]:
    """poor, single (no f64), bare (few ops), wide (no roots), full, shuffling, vectors, loops, rich"""
    return DIALECTS


# ── execution ──

Outcome = dict[str, bytes] | tuple[str, int, int]
"""The bytes of the outputs by name, or (tag, code, invocation) of the trap."""


@dataclass(frozen=True)
class Case:
    """A program and one launch of it."""

    plan: LaunchPlan
    inputs: Mapping[str, bytes]

    def lower(self, target: Target) -> Lowered:
        return legalize(self.plan.program, self.plan.facts, target)

    def run(self) -> Outcome:
        """What the program itself gives."""
        memory = {
            b.name: bytearray(self.inputs.get(b.name, bytes(self.plan.byte_length(b.name))))
            for b in self.plan.program.buffers
            if b.memory.is_bound
        }
        try:
            vector.evaluate(self.plan, memory)
        except Trapped as trap:
            return trap.tag, trap.trap_code, trap.invocation
        return {b.name: bytes(memory[b.name]) for b in self.plan.program.outputs}

    def run_lowered(self, lowered: Lowered) -> Outcome:
        """What its kernels give, launched in the order of the schedule, as an engine does it."""
        plan = self.plan
        known = {b.name: plan.lengths[b.name] for b in plan.program.buffers}
        volume = plan.program.workgroup_volume
        added = launch_lengths(lowered.buffers, known, plan.num_workgroups, plan.num_workgroups * volume)
        lengths = {**known, **added}
        memory = {
            b.name: bytearray(self.inputs.get(b.name, bytes(lengths[b.name] * b.dtype.size)))
            for b in lowered.buffers.values()
        }
        if RUNS in memory:
            memory[RUNS] = bytearray(struct.pack("<2I", _row(lowered), plan.grid[0]))
        if TRAPS in memory:
            memory[TRAPS] = bytearray(b"\xff" * len(memory[TRAPS]))
        kernels = [_kernel_plan(kernel, plan, lengths, _row(lowered)) for kernel in lowered.kernels]
        counters = [0] * counters_of(lowered.schedule)
        values = LaunchValues(lengths, plan.grid, plan.program.subgroup_size or 0, counters)
        for _ in range(plan.repeats):
            for step in walk(lowered.schedule, lambda expr: bound(expr, values)):
                if isinstance(step, SetCounter):
                    counters[step.counter] = step.value
                    at = 8 * step.counter
                    memory[COUNTERS][at : at + 8] = (step.value % 2**64).to_bytes(8, "little")
                else:
                    kernel = kernels[step.kernel]
                    own = {b.name: memory[b.name] for b in kernel.program.buffers if b.memory.is_bound}
                    vector.evaluate(kernel, own)
        trapped = _trap(lowered, memory.get(TRAPS, bytearray()))
        return trapped or {b.name: bytes(memory[b.name]) for b in plan.program.outputs}


def _row(lowered: Lowered) -> int:
    """Workgroups in a row: few, so that there are several rows, and one that is shorter."""
    return min([3, *(kernel.arrangement.most for kernel in lowered.kernels if kernel.arrangement.most > 1)])


def _kernel_plan(kernel: Kernel, plan: LaunchPlan, lengths: Mapping[str, int], row: int) -> LaunchPlan:
    """The launch of one kernel; its program must be valid as what a legalizer has written."""
    program = kernel.program
    own = {b.name: b.count for b in program.buffers if isinstance(b.count, int)}
    return LaunchPlan(
        program=program,
        facts=validate(program, legalized=True),
        grid=plan.coarsened_grid(row if kernel.arrangement.most > 1 else 1),
        lengths={**lengths, **own},
        inputs=tuple(b.name for b in program.inputs),
        outputs=tuple(OutputLayout(b.name, 0, lengths[b.name] * b.dtype.size) for b in program.outputs),
    )


def _trap(lowered: Lowered, memory: bytearray) -> tuple[str, int, int] | None:
    words = [int.from_bytes(memory[k : k + 8], "little") for k in range(0, len(memory), 8)]
    if not words or min(words) == 2**64 - 1:
        return None
    first = min(range(len(words)), key=lambda k: (words[k] >> 32, k))
    return lowered.traps[first], words[first] & 0xFFFF_FFFF, words[first] >> 32


MakeCase = Callable[..., Case]
Check = Callable[[Case, str], Lowered]


@pytest.fixture
def case() -> MakeCase:
    """``case(program, {"a": array}, grid=(2, 1, 1), iterations=1)``"""

    def make(program: Program, arrays: Mapping[str, object], grid: Extent | None = None, iterations: int = 1) -> Case:
        inputs = {
            b.name: array if isinstance(array, bytes) else np.asarray(array, b.dtype.numpy).tobytes()
            for b in program.inputs
            for array in (arrays[b.name],)
        }
        views = [memoryview(inputs[b.name]) for b in program.inputs]
        words = None if grid is not None else read_indirect_grid(program, views)
        config = DispatchConfig(grid_override=grid, fixpoint_iterations=iterations)
        return Case(plan_launch(program, [v.nbytes for v in views], config, indirect_grid=words), inputs)

    return make


@pytest.fixture
def check() -> Check:
    """Lower a case for the target of a dialect, compare its outcome with the program's own, and print it."""

    def check(case: Case, dialect: str) -> Lowered:
        lowered = lowered_for(case.plan.program, dialect)
        expected, got = case.run(), case.run_lowered(lowered)
        assert got == expected, _difference(expected, got)
        return lowered

    return check


@lru_cache(maxsize=64)
def lowered_for(program: Program, dialect: str) -> Lowered:
    """The kernels of a program, printed too; tests launch the same ones over many inputs."""
    lowered = legalize(program, validate(program), DIALECTS[dialect].target())
    print_unit(lowered, DIALECTS[dialect])
    return lowered


def _difference(expected: Outcome, got: Outcome) -> str:
    if isinstance(expected, tuple) or isinstance(got, tuple):
        return f"expected {expected!r}, got {got!r}"[:400]
    for name in expected:
        for k, (a, b) in enumerate(zip(expected[name], got[name], strict=True)):
            if a != b:
                word = slice(k & ~7, (k | 7) + 1)
                return f"{name} at byte {k}: expected {expected[name][word].hex()}, got {got[name][word].hex()}"
    return "equal"


# ── goldens ──

GOLDENS = Path(__file__).parent / "codegen" / "goldens"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with a file in `goldens/`, or write the file with ``VYRE_ACCEPT=1``."""

    return lambda name, text: check_golden(GOLDENS / name, text, request.path)
