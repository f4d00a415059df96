"""Dialects for tests: plain C, with less and with more than that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vyre_driver.lower import CDialect, c_casts, c_operators
from vyre_foundation.dtype import (
    FLOATS, INTEGERS, NUMBERS, DType, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64,
)  # fmt: skip
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ir.stmt import AtomicOp, Scope, SubgroupOp
from vyre_foundation.ops import OPS, Tier

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
"""The least that a target may have."""

SINGLE = plain("single", (bool_, u32, i32, u64, i64, f32), (u8, u16, i8, i16))
"""No f64, and nothing that f64 would give."""

FULL = plain("full", (bool_, u32, i32, u64, i64, f32, f64), (u8, u16, i8, i16))
FULL = replace(
    FULL,
    ops={
        **FULL.ops,
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


def _every_op(registers: Iterable[DType]) -> dict[tuple[str, DType], str]:
    """A function for everything of the language, and the raw ops: nothing is decomposed."""
    operands = {1: "{0}", 2: "{0}, {1}", 3: "{0}, {1}, {2}"}
    rows = [(op, t) for op in OPS.values() for t in op.accepts if t in registers]
    return {(op.id, t): f"{op.id}_{t}({operands[op.arity]})" for op, t in rows if op.tier is Tier.LANGUAGE}


_RICH_TYPES = (bool_, *INTEGERS, f16, f32, f64)
RICH = replace(
    FULL,
    name="rich",
    types={**TYPES, f16: "half"},
    literals={**FULL.literals, u8: "{0}", u16: "{0}", i8: "{0}", i16: "{0}", f16: ""},
    ops={**FULL.ops, **_every_op(_RICH_TYPES)},
    casts=c_casts({**TYPES, f16: "half"}),
    bitcasts={**FULL.bitcasts, (u16, f16): "as_half({0})", (f16, u16): "as_ushort({0})"},
    barriers={**FULL.barriers, Scope.GRID: "grid_barrier();"},
    subgroup_sizes=frozenset((1, 2, 4, 8, 16, 32, 64)),
    subgroups={
        (op, t): f"{op.value}_{t}({{0}}{', {1}' if op.takes_lane else ''})"
        for op in SubgroupOp
        for t in ((bool_,) if op in (SubgroupOp.ANY, SubgroupOp.ALL, SubgroupOp.BALLOT) else NUMBERS)
        if t in _RICH_TYPES and not (t in FLOATS and op.combine in ("and", "or", "xor"))
    },
)
"""All that a target can have: narrow registers, f16, every op, collectives, a grid barrier."""

LOOPS = replace(FULL, name="loops", groups_as_loops=True, wide_indices=True)
"""Everything runs as loops of one work item."""

DIALECTS = {dialect.name: dialect for dialect in (POOR, SINGLE, FULL, SHUFFLING, RICH, LOOPS)}
