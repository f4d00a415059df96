"""The words of CUDA C++: how each type, op, cast, atomic and collective is written.

What is here is exact by NVIDIA's own definition of the language, on every GPU that it is for, so nothing is probed and
a table depends on the architecture alone: code for a GPU can be made where there is none. What the definition leaves
open is not here (the lesser of two zeros, a conversion that does not fit, a shift by the width) and stays with
legalization. Nothing is contracted, flushed or approximated: see `OPTIONS`.
"""

from __future__ import annotations

from vyre_driver.codegen.operators import C_ELEMENTARY, c_operators
from vyre_driver.device.profile import Extent
from vyre_foundation.dtype import DType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ir.stmt import AtomicOp, Scope, SubgroupOp

LANGUAGE = "CUDA C++"
"""What dialects know the language by, and source units say."""

# fmt: off
OPTIONS = ("--std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false")
"""For every program: products and sums stay two roundings, quotients and roots are correct, subnormals are numbers."""

TYPES = {
    bool_: "bool",
    u8: "u8", u16: "u16", u32: "u32", u64: "u64",
    i8: "i8", i16: "i16", i32: "i32", i64: "i64",
    f16: "__half", bf16: "__nv_bfloat16", f32: "float", f64: "double",
}
LITERALS = {
    bool_: "{0}",
    u32: "{0}u", u64: "{0}ull", i32: "{0}", i64: "{0}ll",
    u16: "((u16){0})",
    f16: "", bf16: "", f32: "{0}f", f64: "{0}",
}
INTEGERS = (u32, i32, u64, i64)
"""The integers that registers hold; narrower ones live in memory only."""
HALVES = (f16, bf16)

PRELUDE = """\
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
"""
INCLUDES = {f16: "#include <cuda_fp16.h>\n", bf16: "#include <cuda_bf16.h>\n"}
"""What a text with these types begins with."""

KERNEL     = 'extern "C" __global__ void __launch_bounds__({x} * {y} * {z}) {name}({parameters})'
WORKGROUP  = "__shared__ {type} {name}[{count}];"
CONSTANT   = "__constant__ {type} {name}[{count}] = {{{values}}};"
LARGE_CONSTANT = "__device__ const {type} {name}[{count}] = {{{values}}};"
"""For a unit whose tables together do not fit into `CONSTANT_BYTES`."""
CONSTANT_BYTES = 1 << 16
LENGTH     = "const u32 {name}"
PARAMETERS = {
    (memory, access): "const {type} *__restrict__ {name}" if access is Access.READ else "{type} *{name}"
    for memory in Memory if memory.is_bound
    for access in Access
}
"""What a kernel only reads is not written while it runs: every buffer of a dispatch has memory of its own."""
BARRIERS = {Scope.WORKGROUP: "__syncthreads();", Scope.GRID: "cooperative_groups::this_grid().sync();"}
GRID_INCLUDE = "#include <cooperative_groups.h>\n"
"""What a text with barriers of the grid begins with."""


def ids(workgroup: Extent | None) -> dict[tuple[IdKind, int], str]:
    """The coordinates, in workgroups of a known size; None: the kernels of a text have several."""
    spellings: dict[tuple[IdKind, int], str] = {}
    for axis, letter in enumerate("xyz"):
        local, group = f"threadIdx.{letter}", f"blockIdx.{letter}"
        size = f"blockDim.{letter}" if workgroup is None else f"{workgroup[axis]}u"
        spellings[IdKind.LOCAL_ID, axis] = local if size != "1u" else "0u"
        spellings[IdKind.WORKGROUP_ID, axis] = group
        spellings[IdKind.GLOBAL_ID, axis] = f"({group} * {size} + {local})" if size != "1u" else group
        spellings[IdKind.NUM_WORKGROUPS, axis] = f"gridDim.{letter}"
    return spellings


# ── ops ──

def _integer_ops(t: DType) -> dict[tuple[str, DType], str]:
    """Operators, and the instructions that count bits and multiply wide. A funnel shift takes its count modulo 32."""
    name, wide = TYPES[t], t.bits == 64
    unsigned, suffix = ("u64", "ll") if wide else ("u32", "")
    signed = "i64" if wide else "i32"
    rows = {
        "min":          "({0} < {1} ? {0} : {1})",
        "max":          "({0} > {1} ? {0} : {1})",
        "popcount":     f"(({name})__popc{suffix}(({unsigned}){{0}}))",
        "clz":          f"(({name})__clz{suffix}(({signed}){{0}}))",
        "ctz":          f"(({name})__clz{suffix}(({signed})__brev{suffix}(({unsigned}){{0}})))",
        "reverse_bits": f"(({name})__brev{suffix}(({unsigned}){{0}}))",
        "mul_high":     f"__{'u' if not t.is_signed else ''}mul{'64' if wide else ''}hi({{0}}, {{1}})",
    }
    if t is u32:
        rows |= {"rotl": "__funnelshift_l({0}, {0}, {1})", "rotr": "__funnelshift_r({0}, {0}, {1})"}
    return {(op, t): template for op, template in rows.items()}


def _float_ops(t: DType) -> dict[tuple[str, DType], str]:
    suffix, letter, fma = ("f", "f", "__fmaf_rn") if t is f32 else ("", "d", "__fma_rn")
    names = {"abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}
    rows = {op: f"{name}{suffix}({{0}})" for op, name in names.items()}
    rows |= {"sqrt": f"__{letter}sqrt_rn({{0}})", "fma": f"{fma}({{0}}, {{1}}, {{2}})"}
    return {(op, t): template for op, template in rows.items()}


_TO_FLOAT = {f16: "__half2float({0})", bf16: "__bfloat162float({0})"}
_OF_FLOAT = {f16: "__float2half_rn({0})", bf16: "__float2bfloat16_rn({0})"}


def _half_ops(t: DType) -> dict[tuple[str, DType], str]:
    """Spell the ops of f16 and bf16.

    Sums and products are instructions; quotients and roots go through f32, which is wide enough to round twice. What
    never rounds is left to f32, where it is as short.
    """
    spellings = {"add": "__hadd_rn", "sub": "__hsub_rn", "mul": "__hmul_rn"}
    rows = {op: f"{word}({{0}}, {{1}})" for op, word in spellings.items()}
    x, y = _TO_FLOAT[t], _TO_FLOAT[t].replace("0", "1")
    rows |= {
        "neg":  "__hneg({0})",
        "abs":  "__habs({0})",
        "div":  _OF_FLOAT[t].format(f"{x} / {y}"),
        "sqrt": _OF_FLOAT[t].format(f"__fsqrt_rn({x})"),
    }
    return {(op, t): template for op, template in rows.items()}


OPS = {
    **c_operators((bool_, *INTEGERS, f32, f64)),
    **{key: text for t in INTEGERS for key, text in _integer_ops(t).items()},
    **{key: text for t in (f32, f64) for key, text in _float_ops(t).items()},
}
HALF_OPS = {t: _half_ops(t) for t in HALVES}

# ── elementary functions ──
# Nothing is promised about their bits.

NATIVES = {(f"math.{name}", f32): f"{name}f({{0}})" for name in C_ELEMENTARY}

# ── conversions ──

CASTS = {
    (a, b): f"(({TYPES[b]}){{0}})"
    for a in (bool_, *INTEGERS, f32, f64) for b in (*INTEGERS, f32, f64)
    if a is not b and (a.is_float or b.is_float)
}
"""C's own, where a float is among the types: to nearest even into floats, towards zero out of them."""
HALF_CASTS = {t: {(t, f32): _TO_FLOAT[t], (f32, t): _OF_FLOAT[t]} for t in HALVES}

BITCASTS = {
    (u32, f32): "__uint_as_float({0})",  (f32, u32): "__float_as_uint({0})",
    (i32, f32): "__int_as_float({0})",   (f32, i32): "__float_as_int({0})",
    (i64, f64): "__longlong_as_double({0})",      (f64, i64): "__double_as_longlong({0})",
    (u64, f64): "__longlong_as_double((i64){0})", (f64, u64): "((u64)__double_as_longlong({0}))",
    (u32, i32): "((i32){0})", (i32, u32): "((u32){0})", (u64, i64): "((i64){0})", (i64, u64): "((u64){0})",
}
HALF_BITCASTS = {
    f16:  {(u16, f16):  "__half(__half_raw{{{0}}})",               (f16, u16):  "__half_as_ushort({0})"},
    bf16: {(u16, bf16): "__nv_bfloat16(__nv_bfloat16_raw{{{0}}})", (bf16, u16): "__bfloat16_as_ushort({0})"},
}
"""Into a half by a constructor, as tables of constants take no function."""

# ── atomics ──
# Relaxed, for all of the GPU. Signed 64-bit forms are there for the least and the greatest alone: bits have no sign.

_ATOMIC_INTRINSICS = {
    AtomicOp.ADD: "atomicAdd", AtomicOp.AND: "atomicAnd", AtomicOp.OR: "atomicOr", AtomicOp.XOR: "atomicXor",
    AtomicOp.MIN: "atomicMin", AtomicOp.MAX: "atomicMax",
    AtomicOp.EXCHANGE: "atomicExch", AtomicOp.COMPARE_EXCHANGE: "atomicCAS",
}


def _atomic(op: AtomicOp, t: DType) -> str:
    word = _ATOMIC_INTRINSICS[op]
    operands = ("{2}", "{1}") if op is AtomicOp.COMPARE_EXCHANGE else ("{1}",)
    if t is i64 and op not in (AtomicOp.MIN, AtomicOp.MAX):
        return f"((i64){word}((u64 *)&{{0}}, {', '.join(f'(u64){x}' for x in operands)}))"
    return f"{word}(&{{0}}, {', '.join(operands)})"


ATOMICS = {(op, t): _atomic(op, t) for op in AtomicOp for t in INTEGERS}

# ── subgroups ──

WARP = 32
SUBGROUP_SIZES = frozenset((2, 4, 8, 16, WARP))
"""A collective works on segments of a warp as well as on all of it. Threads that a block does not have do not count."""
_ALL = "0xffffffffu"
_SHUFFLED = (*INTEGERS, f32, f64)


def subgroups(size: int, workgroup: Extent, *, reduces: bool) -> dict[tuple[SubgroupOp, DType], str]:
    """The collectives of `size` lanes; `reduces`: there are instructions that fold a warp.

    Other reductions, and scans, are made of shuffles: then floats are combined in the order of the language.
    """
    is_warp = size == WARP
    width = "" if is_warp else f", {size}"
    spellings: dict[tuple[SubgroupOp, DType], str] = {}
    for t in _SHUFFLED:
        shuffle = f"__shfl_sync({_ALL}, {{0}}, {{1}}{width})"
        spellings[SubgroupOp.SHUFFLE, t] = spellings[SubgroupOp.BROADCAST, t] = shuffle
        spellings[SubgroupOp.SHUFFLE_XOR, t] = f"__shfl_xor_sync({_ALL}, {{0}}, {{1}}{width})"
    ones = (1 << size) - 1
    first = f"({_linear(workgroup)} & {WARP - size}u)"
    segment = _ALL if is_warp else f"({ones:#x}u << {first})"
    votes = f"__ballot_sync({_ALL}, {{0}})"
    spellings[SubgroupOp.BALLOT, bool_] = f"((u64){votes})" if is_warp else f"((u64)({votes} >> {first} & {ones:#x}u))"
    spellings[SubgroupOp.ANY, bool_] = f"(__any_sync({segment}, {{0}}) != 0)"
    spellings[SubgroupOp.ALL, bool_] = f"(__all_sync({segment}, {{0}}) != 0)"
    return spellings | (_reductions(segment) if reduces else {})


def _reductions(segment: str) -> dict[tuple[SubgroupOp, DType], str]:
    """On 32 bits; what the order of operands means nothing to."""
    spellings = {(SubgroupOp(f"reduce_{op}"), u32): f"__reduce_{op}_sync({segment}, {{0}})"
             for op in ("add", "min", "max", "and", "or", "xor")}
    for op in (SubgroupOp.REDUCE_ADD, SubgroupOp.REDUCE_MIN, SubgroupOp.REDUCE_MAX):
        spellings[op, i32] = spellings[op, u32]
    for op in (SubgroupOp.REDUCE_AND, SubgroupOp.REDUCE_OR, SubgroupOp.REDUCE_XOR):
        spellings[op, i32] = f"((i32){spellings[op, u32].replace('{0}', '(u32){0}')})"
    return spellings


def _linear(workgroup: Extent) -> str:
    """The position of a thread in its block, by which warps are made."""
    x, y, z = workgroup
    row = "threadIdx.x"
    if y > 1:
        row += f" + {x}u * threadIdx.y"
    return f"({row} + {x * y}u * threadIdx.z)" if z > 1 else f"({row})" if y > 1 else row


# fmt: on

_LIBRARY = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx erfinv exp exp10
    exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround modf nan nearbyint nextafter norm norm3d norm4d normcdf normcdfinv pow rcbrt
    remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbln scalbn sin sincos sincospi sinh sinpi sqrt
    tan tanh tgamma trunc y0 y1 yn cyl_bessel_i0 cyl_bessel_i1
""".split()

RESERVED = frozenset(
    """
    alignas alignof and and_eq asm bitand bitor catch class compl const_cast constexpr decltype delete
    dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public reinterpret_cast static_assert static_cast template this thread_local throw true try typeid
    typename using virtual xor xor_eq concept requires typeof
    u8 u16 u32 u64 i8 i16 i32 i64 ull
    threadIdx blockIdx blockDim gridDim warpSize cooperative_groups dim3 uint3 std
    uint ushort ulong NULL NAN INFINITY CHAR_BIT unix linux
    abs labs llabs min max umin umax llmin llmax ullmin ullmax isnan isinf isfinite signbit finite mulhi mul24 umul24
    saturate clock clock64 printf vprintf malloc free memcpy memset memmove assert abort exit trap rand main
    atomicAdd atomicSub atomicExch atomicMin atomicMax atomicInc atomicDec atomicCAS atomicAnd atomicOr atomicXor
    """.split()
    + _LIBRARY
    + [f"{name}f" for name in _LIBRARY]
)
"""Words that no name of a program may become: the language's, its functions', and ours. No name begins with an
underscore, so the words that do are not listed."""
