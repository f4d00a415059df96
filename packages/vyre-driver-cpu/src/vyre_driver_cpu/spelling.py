"""The words of LLVM IR: how each type, op, cast and atomic is written.

A spelling is the right-hand side of an instruction over its operands ``{0}``, ``{1}``, ``{2}``. One of several
instructions has a line for each: all but the last name their result, with the prefix ``{r}``.

**Undefined behaviour.** An instruction of LLVM may have operands for which its result is poison, or for which the whole
program is undefined. None is printed where it may meet such operands:

===============================  ====================================  ==============================================
instruction                      undefined for                         excluded by
===============================  ====================================  ==============================================
`shl`, `lshr`, `ashr`            a count of the width or more: poison  `raw_shl`, `raw_shr`: legalization has proven
                                                                       or masked the count
`udiv`, `sdiv`, `urem`, `srem`   0, or the least value by -1: the      `raw_div`, `raw_rem`: legalization has proven
                                 program is undefined                  or replaced the divisor
`fshl`, `fshr`                   nothing; but LLVM 22 expands those of  the code generator does not know the counts
                                 vectors to shifts by the width        (`compiler`)
`fptoui`, `fptosi`               what does not fit: poison             `freeze`: any value, and legalization selects
                                                                       it only where it fits
`add`, `mul` with `nuw`, `nsw`   overflow: poison                      only on indices of 64 bits and counters of
                                                                       loops, from bounds of what they are made of
`ctlz`, `cttz`, `abs`            0, or the least value, with the flag  the flag is false
`getelementptr inbounds`         outside of the object: poison         legalization has proven the index, or a branch
                                                                       on it stands before
`load`                           memory that nothing was written to:   memory begins as zeros, or is written before
                                 undef                                 it is read (`dead_initialisations`)
`noalias` parameters             one memory by two names               the engine refuses a resource that is bound
                                                                       twice and written (`_require_apart`)
===============================  ====================================  ==============================================

Floats have no fast-math flags, so no instruction is contracted, reordered or assumed free of NaN. But LLVM takes a
signalling NaN for any other: it makes ``x > c ? x : c`` an instruction that gives `c` for a NaN. On x86-64 that is so;
`fmaxnm` of arm64 gives a quiet NaN for a signalling one. There floats are made quiet where they enter: `quiet`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from vyre_driver_cpu.cpu import Cpu
from vyre_foundation.dtype import DType, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.stmt import AtomicOp

LANGUAGE = "LLVM IR"
"""What source units call the language."""
LINE = 64
"""Bytes of a line of the cache, to which private arrays are aligned."""

# fmt: off
TYPES = {
    bool_: "i1",
    u8: "i8", u16: "i16", u32: "i32", u64: "i64",
    i8: "i8", i16: "i16", i32: "i32", i64: "i64",
    f16: "half", f32: "float", f64: "double",
}
UNSIGNED = (u8, u16, u32, u64)
SIGNED   = (i8, i16, i32, i64)
INTEGERS = (*UNSIGNED, *SIGNED)
FLOATS   = (f32, f64)

_BITS = {"and": "and {t} {{0}}, {{1}}", "or": "or {t} {{0}}, {{1}}", "xor": "xor {t} {{0}}, {{1}}"}

_BOOL = {
    **_BITS,
    "eq":           "icmp eq {t} {{0}}, {{1}}",
    "ne":           "icmp ne {t} {{0}}, {{1}}",
}
_INTEGER = {
    **_BITS,
    "not":          "xor {t} {{0}}, {o}",
    "add":          "add {t} {{0}}, {{1}}",
    "sub":          "sub {t} {{0}}, {{1}}",
    "mul":          "mul {t} {{0}}, {{1}}",
    "rotl":         "call {t} @llvm.fshl.{i}({t} {{0}}, {t} {{0}}, {t} {{1}})",
    "rotr":         "call {t} @llvm.fshr.{i}({t} {{0}}, {t} {{0}}, {t} {{1}})",
    "popcount":     "call {t} @llvm.ctpop.{i}({t} {{0}})",
    "clz":          "call {t} @llvm.ctlz.{i}({t} {{0}}, i1 false)",
    "ctz":          "call {t} @llvm.cttz.{i}({t} {{0}}, i1 false)",
    "reverse_bits": "call {t} @llvm.bitreverse.{i}({t} {{0}})",
    "add_sat":      "call {t} @llvm.{s}add.sat.{i}({t} {{0}}, {t} {{1}})",
    "sub_sat":      "call {t} @llvm.{s}sub.sat.{i}({t} {{0}}, {t} {{1}})",
    "min":          "call {t} @llvm.{s}min.{i}({t} {{0}}, {t} {{1}})",
    "max":          "call {t} @llvm.{s}max.{i}({t} {{0}}, {t} {{1}})",
    "eq":           "icmp eq {t} {{0}}, {{1}}",
    "ne":           "icmp ne {t} {{0}}, {{1}}",
    "lt":           "icmp {s}lt {t} {{0}}, {{1}}",
    "le":           "icmp {s}le {t} {{0}}, {{1}}",
    "gt":           "icmp {s}gt {t} {{0}}, {{1}}",
    "ge":           "icmp {s}ge {t} {{0}}, {{1}}",
    "raw_div":      "{s}div {t} {{0}}, {{1}}",
    "raw_rem":      "{s}rem {t} {{0}}, {{1}}",
    "raw_shl":      "shl {t} {{0}}, {{1}}",
    "raw_shr":      "{h}shr {t} {{0}}, {{1}}",
    "mul_high":     "{{r}}a = {e}ext {t} {{0}} to {w}\n"
                    "{{r}}b = {e}ext {t} {{1}} to {w}\n"
                    "{{r}}c = mul {w} {{r}}a, {{r}}b\n"
                    "{{r}}d = {h}shr {w} {{r}}c, {n}\n"
                    "trunc {w} {{r}}d to {t}",
}
_SIGNED = {
    "abs":          "call {t} @llvm.abs.{i}({t} {{0}}, i1 false)",
}
_FLOAT = {
    "add":          "fadd {t} {{0}}, {{1}}",
    "sub":          "fsub {t} {{0}}, {{1}}",
    "mul":          "fmul {t} {{0}}, {{1}}",
    "div":          "fdiv {t} {{0}}, {{1}}",
    "neg":          "fneg {t} {{0}}",
    "abs":          "call {t} @llvm.fabs.{f}({t} {{0}})",
    "sqrt":         "call {t} @llvm.sqrt.{f}({t} {{0}})",
    "floor":        "call {t} @llvm.floor.{f}({t} {{0}})",
    "ceil":         "call {t} @llvm.ceil.{f}({t} {{0}})",
    "trunc":        "call {t} @llvm.trunc.{f}({t} {{0}})",
    "round":        "call {t} @llvm.roundeven.{f}({t} {{0}})",
    "eq":           "fcmp oeq {t} {{0}}, {{1}}",
    "ne":           "fcmp une {t} {{0}}, {{1}}",
    "lt":           "fcmp olt {t} {{0}}, {{1}}",
    "le":           "fcmp ole {t} {{0}}, {{1}}",
    "gt":           "fcmp ogt {t} {{0}}, {{1}}",
    "ge":           "fcmp oge {t} {{0}}, {{1}}",
    "is_nan":       "fcmp uno {t} {{0}}, {{0}}",
}
_FUSED = {
    "fma":          "call {t} @llvm.fma.{f}({t} {{0}}, {t} {{1}}, {t} {{2}})",
}
# fmt: on


def typed(dtype: DType, lanes: int = 1) -> str:
    """The type of one value, or of a vector of several."""
    return TYPES[dtype] if lanes == 1 else f"<{lanes} x {TYPES[dtype]}>"


def _vector(type: str, lanes: int) -> str:
    return type if lanes == 1 else f"<{lanes} x {type}>"


def _rows(dtype: DType, lanes: int, *tables: dict[str, str]) -> dict[tuple[str, DType], str]:
    """The rows of `tables` for one operand type.

    ``{t}`` is the type, ``{f}`` and ``{i}`` its name in an intrinsic, ``{s}`` the letter of the sign, ``{h}`` that of a
    shift to the right, ``{e}`` that of an extension, ``{w}`` the type of twice the width, ``{n}`` the width, ``{o}`` a
    number of ones only.
    """
    constant = "{}" if lanes == 1 else f"splat ({TYPES[dtype]} {{}})"
    twice = f"i{2 * dtype.bits}"
    prefix = "" if lanes == 1 else f"v{lanes}"
    words = {
        "t": typed(dtype, lanes),
        "f": f"{prefix}f{dtype.bits}",
        "i": f"{prefix}{TYPES[dtype]}",
        "s": "s" if dtype.is_signed else "u",
        "h": "a" if dtype.is_signed else "l",
        "e": "s" if dtype.is_signed else "z",
        "w": _vector(twice, lanes),
        "n": dtype.bits if lanes == 1 else f"splat ({twice} {dtype.bits})",
        "o": constant.format(-1),
    }
    return {(op, dtype): text.format(**words) for table in tables for op, text in table.items()}


_SHARED = frozenset("and or xor not add sub mul rotl rotr popcount clz ctz reverse_bits raw_shl".split())
"""What registers of 32 bits and more do for either sign with one instruction: legalization takes the unsigned row."""


def _ops(lanes: int, *, has_half: bool) -> dict[tuple[str, DType], str]:
    return {
        **_rows(bool_, lanes, _BOOL),
        **{row: text for t in UNSIGNED for row, text in _rows(t, lanes, _INTEGER).items()},
        **{
            (op, t): text
            for t in SIGNED
            for (op, _), text in _rows(t, lanes, _INTEGER, _SIGNED).items()
            if t.bits < 32 or op not in _SHARED
        },
        **{row: text for t in FLOATS for row, text in _rows(t, lanes, _FLOAT, _FUSED).items()},
        **(_rows(f16, lanes, _FLOAT) if has_half else {}),  # LLVM computes them as f32 and rounds each, which is exact
    }


# ── conversions ──


def _cast(source: DType, dtype: DType, lanes: int) -> str:
    """The conversion of a value that fits; integers are truncated, floats rounded to nearest even."""
    a, b = typed(source, lanes), typed(dtype, lanes)
    if source is bool_ or not source.is_float:
        sign = "s" if source.is_signed else "u"
        if dtype.is_float:
            return f"{sign}itofp {a} {{0}} to {b}"
        if a == b:
            return ""
        word = "trunc" if dtype.bits < source.bits and source is not bool_ else "sext" if source.is_signed else "zext"
        return f"{word} {a} {{0}} to {b}"
    if dtype.is_float:
        return f"{'fpext' if dtype.bits > source.bits else 'fptrunc'} {a} {{0}} to {b}"
    return f"{{r}}a = fpto{'s' if dtype.is_signed else 'u'}i {a} {{0}} to {b}\nfreeze {b} {{r}}a"


def _casts(lanes: int, *, has_half: bool) -> dict[tuple[DType, DType], str]:
    """Empty texts are conversions of a register to itself."""
    pairs = [(a, b) for a in (bool_, *INTEGERS, *FLOATS) for b in (*INTEGERS, *FLOATS) if a is not b]
    # From f64 and from wide integers to f16, LLVM rounds twice, or calls a library.
    halves = [(f16, f32), (f16, f64), (f32, f16), (bool_, f16), (u8, f16), (i8, f16)]
    return {(a, b): _cast(a, b, lanes) for a, b in [*pairs, *(halves if has_half else [])]}


def quiet(dtype: DType, lanes: int = 1) -> str:
    """The float ``{0}`` without a signalling NaN."""
    t, prefix = typed(dtype, lanes), "" if lanes == 1 else f"v{lanes}"
    return f"call {t} @llvm.canonicalize.{prefix}f{dtype.bits}({t} {{0}})"


_PATTERNS = (*INTEGERS, f16, *FLOATS)


def _bitcasts(lanes: int) -> dict[tuple[DType, DType], str]:
    return {
        (a, b): "" if TYPES[a] == TYPES[b] else f"bitcast {typed(a, lanes)} {{0}} to {typed(b, lanes)}"
        for a in _PATTERNS
        for b in _PATTERNS
        if a is not b and a.bits == b.bits
    }


# ── atomics ──
# Relaxed, as those of the language: barriers order memory, and workgroups end before later launches begin.

# fmt: off
_ATOMICS = {
    AtomicOp.ADD: "add", AtomicOp.AND: "and", AtomicOp.OR: "or", AtomicOp.XOR: "xor", AtomicOp.EXCHANGE: "xchg",
    AtomicOp.MIN: "{s}min", AtomicOp.MAX: "{s}max",
}
# fmt: on


def _atomic(op: AtomicOp, dtype: DType) -> str:
    """``{0}`` is the address, ``{1}`` the value, ``{2}`` the expected value; the result is the old value."""
    t = TYPES[dtype]
    if op is AtomicOp.COMPARE_EXCHANGE:
        exchange = f"{{r}}a = cmpxchg ptr {{0}}, {t} {{2}}, {t} {{1}} monotonic monotonic, align {dtype.size}"
        return f"{exchange}\nextractvalue {{{{ {t}, i1 }}}} {{r}}a, 0"
    word = _ATOMICS[op].format(s="" if dtype.is_signed else "u")
    return f"atomicrmw {word} ptr {{0}}, {t} {{1}} monotonic, align {dtype.size}"


ATOMICS = {(op, t): _atomic(op, t) for op in AtomicOp for t in (u32, i32, u64, i64)}
COMBINED = {
    AtomicOp.ADD: "add",
    AtomicOp.AND: "and",
    AtomicOp.OR: "or",
    AtomicOp.XOR: "xor",
    AtomicOp.MIN: "min",
    AtomicOp.MAX: "max",
}
"""Atomics of which several with the values x, y, … are one with their combination, by the name of the operation."""


def neutral(operation: str, dtype: DType) -> int:
    """What combines with any integer to that integer."""
    return {"and": -1, "min": dtype.highest, "max": dtype.lowest}.get(operation, 0)


ATOMIC_STORE = "store atomic {type} {value}, ptr {address} monotonic, align {size}"
"""An exchange whose old value is not used."""


# ── what one CPU has ──


@dataclass(frozen=True, slots=True)
class Spellings:
    """The rows of one CPU: ops, casts, bitcasts and atomics, and the types that registers hold.

    Those of `lanes` work on vectors. `vector_bits` is the size of a register for vectors, `stream_bits` that of a
    vector in a loop that memory limits. `has_signalling`: some of its instructions tell signalling NaNs from others.
    `gathers`: a gather takes less time than as many plain loads. `nontemporal`: non-temporal stores take less time than
    plain ones for what does not fit in the caches.
    """

    ops: Mapping[tuple[str, DType], str]
    casts: Mapping[tuple[DType, DType], str]
    bitcasts: Mapping[tuple[DType, DType], str]
    atomics: Mapping[tuple[AtomicOp, DType], str]
    arithmetic: frozenset[DType]
    vector_bits: int
    stream_bits: int
    has_half: bool
    has_signalling: bool
    gathers: bool
    nontemporal: bool

    @property
    def masked_memory(self) -> bool:
        """Whether loads and stores of some lanes are instructions; AVX2 has those of 32 and 64 bits."""
        return self.vector_bits >= 256

    @property
    def mask_registers(self) -> bool:
        """Whether masks have registers of their own, and masked stores are as fast as others: AVX-512."""
        return self.vector_bits == 512

    @property
    def vector_registers(self) -> int:
        """How many registers for vectors there are at least."""
        return 32 if self.mask_registers else 16

    def combination(self, op: AtomicOp, dtype: DType) -> str:
        """What an atomic of `COMBINED` does, for values."""
        ordered = dtype if op in (AtomicOp.MIN, AtomicOp.MAX) else dtype.unsigned
        return self.ops[COMBINED[op], ordered]

    def of(self, lanes: int) -> Spellings:
        """The rows for vectors."""
        return spellings(
            has_half=self.has_half,
            has_signalling=self.has_signalling,
            vector_bits=self.vector_bits,
            stream_bits=self.stream_bits,
            gathers=self.gathers,
            nontemporal=self.nontemporal,
            lanes=lanes,
        )


@cache
def spellings(
    *,
    has_half: bool,
    has_signalling: bool = False,
    vector_bits: int = 128,
    stream_bits: int = 256,
    gathers: bool = False,
    nontemporal: bool = False,
    lanes: int = 1,
) -> Spellings:
    """The table of a kind of CPU. `has_half`: it converts between f16 and f32 itself, and LLVM calls no library."""
    registers = {bool_, *INTEGERS, *FLOATS, *((f16,) if has_half else ())}
    return Spellings(
        ops=_ops(lanes, has_half=has_half),
        casts=_casts(lanes, has_half=has_half),
        bitcasts={pair: text for pair, text in _bitcasts(lanes).items() if {*pair} <= registers},
        atomics=ATOMICS,
        arithmetic=frozenset(registers),
        vector_bits=vector_bits,
        stream_bits=min(stream_bits, vector_bits),
        has_half=has_half,
        has_signalling=has_signalling,
        gathers=gathers,
        nontemporal=nontemporal,
    )


def spellings_of(cpu: Cpu) -> Spellings:
    """The table of a CPU."""
    return spellings(
        has_half=cpu.converts_half,
        has_signalling=not cpu.is_x86,
        vector_bits=cpu.vector_bits,
        stream_bits=cpu.stream_bits,
        gathers=cpu.has_fast_gathers,
        nontemporal=cpu.has_fast_nontemporal_stores,
    )
