"""The words of OpenCL C: how each type, op, cast, atomic and collective is written.

Floats, built-ins and collectives are candidates, best first: a device gets the first one that its probe proves (see
`probe`), and a row without a proven one is left to legalization. The order is that of measured speed. On PoCL a library
function is a scalar call that keeps a loop from being vectorised, 10 to 80 times slower than an operator or a compiler
built-in; nowhere is it faster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from vyre_driver.codegen.operators import C_ELEMENTARY, c_operators
from vyre_foundation.dtype import DType, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ir.stmt import AtomicOp, Scope, SubgroupOp

LANGUAGE = "OpenCL C"
"""What dialects know the language by, and source units say."""

# fmt: off
TYPES = {
    bool_: "bool",
    u8: "uchar", u16: "ushort", u32: "uint", u64: "ulong",
    i8: "char",  i16: "short",  i32: "int",  i64: "long",
    f16: "half", f32: "float",  f64: "double",
}
LITERALS = {
    bool_: "{0}",
    u32: "{0}u", u64: "{0}ul", i32: "{0}", i64: "{0}l",
    u16: "((ushort){0})",
    f16: "((half){0}f)", f32: "{0}f", f64: "{0}",
}
INTEGERS = (u32, i32, u64, i64)
"""The integers that registers hold; narrower ones live in memory only."""

STANDARD = "-cl-std=CL1.2"
"""The oldest that has everything here; newer ones make some of it optional."""
EXACT_DIVISION = "-cl-fp32-correctly-rounded-divide-sqrt"
EXTENSIONS = {
    "cl_khr_fp64", "cl_khr_fp16", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics",
}

KERNEL     = "__kernel __attribute__((reqd_work_group_size({x}, {y}, {z}))) void {name}({parameters})"
FUNCTION   = "static __attribute__((noinline)) {type} {name}({parameters})"
FLAT       = "__kernel __attribute__((reqd_work_group_size({x} * {y} * {z}, 1, 1))) void {name}({parameters})"
WORKGROUP  = "__local {type} {name}[{count}];"
ALIGNMENT  = "__attribute__((aligned(64))) "
CONSTANT   = "__constant {type} {name}[{count}] = {{{values}}};"
LENGTH     = "const uint {name}"
PARAMETERS = {
    (memory, access): f"__global {'const ' if access is Access.READ else ''}{{type}} *{{name}}"
    for memory in Memory if memory.is_bound
    for access in Access
}
BARRIERS = {Scope.WORKGROUP: "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"}

RARE_LOOP = "#pragma clang loop vectorize(disable) interleave(disable)"
RARE_ROLLED_LOOP = f"{RARE_LOOP} unroll(disable)"
"""Less to compile; the compiler of Intel's CPU runtime ends over some loops that it must not unroll."""
SERIAL_LOOP = RARE_LOOP
"""The compiler of Intel's CPU runtime makes vectors of sums of floats, and adds in another order then."""
RARE_END  = '__asm__ volatile("");'
"""Nothing. Compilers that join the stores at the ends of two branches make a masked one of them: half the speed."""
SHORT_LOOP = "#pragma unroll"
NO_VECTORS = "__attribute__((intel_vec_len_hint(1)))"
NOT_OPTIMIZED = "__attribute__((optnone))"
"""In place of it where vectors are demanded: a compiler that is told both refuses the kernel."""
NO_CONTRACTION = "#pragma OPENCL FP_CONTRACT OFF"
"""Products and sums stay apart. In kernels that are not optimized it counts inside of their bodies only."""
OPAQUE = '__asm__("" : "+r"({0}));'

_IDS = {
    IdKind.GLOBAL_ID:      "get_global_id({0})",
    IdKind.LOCAL_ID:       "get_local_id({0})",
    IdKind.WORKGROUP_ID:   "get_group_id({0})",
    IdKind.NUM_WORKGROUPS: "get_num_groups({0})",
}
INDEX_IDS = {(kind, axis): text.format(axis) for kind, text in _IDS.items() for axis in range(3)}
IDS = {key: f"((uint){text})" for key, text in INDEX_IDS.items()}


def prelude(extensions: Iterable[str]) -> str:
    """Give the first lines of every source, for a device that reports these extensions.

    Without the first line, products and sums are contracted.
    """
    lines = [NO_CONTRACTION]
    lines += [f"#pragma OPENCL EXTENSION {name} : enable" for name in sorted(EXTENSIONS.intersection(extensions))]
    return "\n".join([*lines, ""])


# ── ops ──

INTEGER_OPS = {
    **c_operators((bool_, *INTEGERS)),
    **{("min", t): "({0} < {1} ? {0} : {1})" for t in INTEGERS},
    **{("max", t): "({0} > {1} ? {0} : {1})" for t in INTEGERS},
}
"""What C defines for every operand; nothing to prove."""

_SUFFIX = {f32: "f", f64: ""}


def _float_ops(t: DType) -> dict[tuple[str, DType], tuple[str, ...]]:
    """Arithmetic in the operators of C, rounding and roots in the compiler's built-ins or else the library's."""
    rows: dict[str, tuple[str, ...]] = {op: (template,) for (op, _), template in c_operators((t,)).items()}
    if t is not f16:
        names = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}
        rows |= {op: (f"__builtin_{name}{_SUFFIX[t]}({{0}})", f"{name}({{0}})") for op, name in names.items()}
        # One compiler drops the test for NaN behind a root. There, only what has a root is given to it.
        nan = f"(({TYPES[t]})NAN)"
        rows["sqrt"] += tuple(f"({{0}} >= 0 ? {root} : {nan})" for root in rows["sqrt"])
        rows |= {"fma": (f"__builtin_fma{_SUFFIX[t]}({{0}}, {{1}}, {{2}})", "fma({0}, {1}, {2})")}
    return {(op, t): templates for op, templates in rows.items()}


FLOAT_OPS = {t: _float_ops(t) for t in (f32, f64, f16)}

_BITS = {u32: ("uint", "", 32), i32: ("uint", "", 32), u64: ("ulong", "l", 64), i64: ("ulong", "l", 64)}


def _bit_ops(t: DType) -> dict[tuple[str, DType], tuple[str, ...]]:
    """Counting in the compiler's built-ins, which count zeros of non-zero words only, or else the library's."""
    name, (unsigned, suffix, width) = TYPES[t], _BITS[t]
    wide = {u32: "ulong", i32: "long", u64: "unsigned __int128", i64: "__int128"}[t]
    rows = {
        "popcount":     (f"(({name})__builtin_popcount{suffix}(({unsigned}){{0}}))", "popcount({0})"),
        "clz":          (f"({{0}} ? ({name})__builtin_clz{suffix}(({unsigned}){{0}}) : {width})", "clz({0})"),
        "ctz":          (f"({{0}} ? ({name})__builtin_ctz{suffix}(({unsigned}){{0}}) : {width})",),
        "reverse_bits": (f"(({name})__builtin_bitreverse{width}(({unsigned}){{0}}))",),
        "mul_high":     (f"(({name})((({wide}){{0}} * ({wide}){{1}}) >> {width}))", "mul_hi({0}, {1})"),
    }
    return {(op, t): templates for op, templates in rows.items()}


BIT_OPS = {t: _bit_ops(t) for t in INTEGERS}



def _other_intrinsics(t: DType) -> dict[tuple[str, DType], tuple[str, ...]]:
    """What the library has for ops that are composed, or operators, unless a measurement says otherwise.

    Not `fmin`, `fmax` and `copysign`: the standard leaves the sign of a zero or a NaN open there, so what a sample
    shows need not hold in the next kernel.
    """
    rows: dict[str, tuple[str, ...]] = {op: (f"{op}({{0}}, {{1}})",) for op in ("min", "max")}
    rows["rotl"] = ("rotate({0}, {1})",)
    if t.is_signed:
        rows["abs"] = (f"(({TYPES[t]})abs({{0}}))",)
    else:
        rows |= {"rotr": ("rotate({0}, -{1})",), "abs_diff": ("abs_diff({0}, {1})",)}
    return {(op, t): templates for op, templates in rows.items()}


OTHER_INTRINSICS = {t: _other_intrinsics(t) for t in INTEGERS}

# ── elementary functions ──
# Nothing is promised about their bits.

NATIVES = {(f"math.{name}", f32): f"{name}({{0}})" for name in C_ELEMENTARY}

# ── conversions ──


def cast_text(target: DType) -> str:
    """C's own conversion: exact where the value fits, to nearest even into floats, towards zero out of them."""
    return f"(({TYPES[target]}){{0}})"


def float_casts(floats: Collection[DType]) -> list[tuple[DType, DType]]:
    """All conversions that touch a float, as (from, to); those between integers are the language's own."""
    types = (*INTEGERS, *floats)
    out = [(t, other) for t in floats for other in types if other is not t]
    return [*out, *((integer, t) for t in floats for integer in INTEGERS), *((t, bool_) for t in floats)]


BITCASTS = {
    (a, b): f"as_{TYPES[b]}({{0}})"
    for a in (u16, f16, *INTEGERS, f32, f64) for b in (u16, f16, *INTEGERS, f32, f64)
    if a is not b and a.bits == b.bits
}

# ── atomics ──
# The 64-bit forms have names of their own in the extensions. `xchg` and `cmpxchg` are untyped in effect: bits move.

_ATOMIC_INTRINSICS = {
    AtomicOp.ADD: "add", AtomicOp.AND: "and", AtomicOp.OR: "or", AtomicOp.XOR: "xor",
    AtomicOp.MIN: "min", AtomicOp.MAX: "max",
    AtomicOp.EXCHANGE: "xchg", AtomicOp.COMPARE_EXCHANGE: "cmpxchg",
}


def _atomic(op: AtomicOp, t: DType) -> str:
    prefix = "atom" if t.bits == 64 else "atomic"
    operands = "{2}, {1}" if op is AtomicOp.COMPARE_EXCHANGE else "{1}"
    return f"{prefix}_{_ATOMIC_INTRINSICS[op]}(&{{0}}, {operands})"


ATOMICS = {(op, t): _atomic(op, t) for op in AtomicOp for t in INTEGERS}
ATOMIC_STORES = dict.fromkeys(INTEGERS, "__atomic_store_n(&{0}, {1}, __ATOMIC_RELAXED)")
"""An exchange whose old value is not used, as a built-in of the compiler. On CPUs it is a plain store, which costs a
hundredth of an exchange that other cores contend for; OpenCL C has a word for it from version 2 on only."""

# ── subgroups ──

SUBGROUP_SIZES = (4, 8, 16, 32, 64)
REQUIRED_SUBGROUP_SIZE = "__attribute__((intel_reqd_sub_group_size({size})))"
"""Of a kernel, where the device reports `cl_intel_required_subgroup_size`."""

SUBGROUPS = {
    **{(SubgroupOp.SHUFFLE, t): "sub_group_shuffle({0}, {1})" for t in (*INTEGERS, f16, f32, f64)},
    **{(SubgroupOp.SHUFFLE_XOR, t): "sub_group_shuffle_xor({0}, {1})" for t in (*INTEGERS, f16, f32, f64)},
    **{(SubgroupOp.BROADCAST, t): "sub_group_broadcast({0}, {1})" for t in (*INTEGERS, f16, f32, f64)},
    (SubgroupOp.BALLOT, bool_): "(as_ulong2(sub_group_ballot({0})).x)",
    (SubgroupOp.ANY, bool_): "(sub_group_any({0}) != 0)",
    (SubgroupOp.ALL, bool_): "(sub_group_all({0}) != 0)",
}
"""Reductions and scans are made of exchanges: then floats are combined in the order of the language."""
# fmt: on

RESERVED = frozenset(
    """
    global local constant private kernel __global __local __constant __private __kernel generic uniform pipe
    half uchar ushort uint ulong
    read_only write_only read_write asm typeof NULL NAN INFINITY HUGE_VALF HUGE_VAL MAXFLOAT unix linux
    CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE

    get_work_dim get_global_size get_global_id get_local_size get_local_id get_num_groups get_group_id get_global_offset
    get_sub_group_size get_sub_group_local_id get_sub_group_id get_num_sub_groups
    barrier mem_fence read_mem_fence write_mem_fence prefetch printf async_work_group_copy wait_group_events shuffle
    shuffle2 vec_step select bitselect isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater
    isfinite isinf isnan isnormal isordered isunordered signbit any all as_uint as_int as_float
    abs abs_diff add_sat hadd rhadd clamp clz ctz mad_hi mad_sat max min mul_hi rotate sub_sat upsample popcount mad24
    mul24 degrees mix radians step smoothstep sign cross dot distance length normalize fast_distance fast_length
    fast_normalize acos acosh acospi asin asinh asinpi atan atan2 atanh atanpi atan2pi cbrt ceil copysign cos cosh cospi
    erf erfc exp exp2 exp10 expm1 fabs fdim floor fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r log
    log2 log10 log1p logb mad maxmag minmag modf nan nextafter pow pown powr remainder remquo rint rootn round rsqrt sin
    sincos sinh sinpi sqrt tan tanh tanpi tgamma trunc
    atomic_add atomic_sub atomic_xchg atomic_inc atomic_dec atomic_cmpxchg atomic_min atomic_max atomic_and atomic_or
    atomic_xor atom_add atom_sub atom_xchg atom_inc atom_dec atom_cmpxchg atom_min atom_max atom_and atom_or atom_xor
    sub_group_shuffle sub_group_shuffle_xor sub_group_broadcast sub_group_ballot sub_group_any sub_group_all
    """.split()
)
"""Words that no name of a program may become: the language's, its functions', and macros of compilers."""

RESERVED_PREFIXES = ("cl_",)
"""Every extension that a device has is a macro of its name."""
