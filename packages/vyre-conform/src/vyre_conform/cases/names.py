"""Names that mean something to a compiler: programs may call their buffers and locals whatever they like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Load, Local, literal
from vyre_foundation.ir.stmt import Assign, Body, If, Store, Var
from vyre_foundation.ops import OPS

BUFFERS, COUNT = 8, 2

WORDS = {
    "keywords": """
        auto bool char const do double enum extern float for goto if inline long register restrict signed sizeof static
        struct switch typedef union unsigned void volatile asm class delete explicit new nullptr operator private
        template this true try using virtual typename constexpr noexcept alignas concept and or not xor compl and_eq
        def del elif except from global import in is lambda nonlocal pass raise with yield None True False
        main std typeof complex imaginary half quad kernel local constant
    """,
    "macros": """
        NULL EOF NAN INFINITY HUGE_VAL HUGE_VALF M_PI M_E M_PI_F M_SQRT2 FLT_MAX FLT_EPSILON FLT_DIG FLT_RADIX DBL_MAX
        HALF_MAX CHAR_BIT SCHAR_MAX SHRT_MAX INT_MAX INT_MIN UINT_MAX LONG_MAX ULONG_MAX INT32_MAX UINT64_MAX SIZE_MAX I
        assert errno stdin stderr offsetof va_list linux unix i386 FP_NAN FP_FAST_FMAF MAXFLOAT ATOMIC_VAR_INIT NDEBUG
        memory_order_relaxed isnan isinf isfinite signbit isnormal fpclassify RAND_MAX TRUE FALSE min max
    """,
    "functions": """
        barrier mem_fence atomic_add atom_add as_uint as_float convert_uint vload4 vstore4 fma mad fabs floor ceil trunc
        rint sqrt rsqrt native_sqrt popcount clz ctz rotate mul_hi mad24 select clamp abs abs_diff printf memcpy memset
        malloc free exit abort rand sin exp log pow fmin fmax bitselect shuffle umulhi brev popc ffs ballot shfl dim3
        size_t uint ulong uchar ushort uint4 float4 half2 int8_t uint32_t int64_t uintptr_t nan signbit
    """,
    "emitted": """
        t t0 t1 x x_ x0 m0 m1 n0 n1 v0 v1 own0 group groups local_id global_id global_id_x workgroup_id_x sidecar
        out_length length slot first_x local_x end_x left gone rest count sign nan_bits canonical_nan kernel_0 names_
        view_u32 cut_u32 op_add_u32 cast_u32_u64 bits_u32_f32 range bytes bytearray memoryview len int self exec
    """,
}
"""Words by where they come from: languages, their headers, their libraries, and what emitters make up."""


def specs() -> Iterator[Spec]:
    for kind, words in WORDS.items():
        yield fixed(address("names", kind), _names, words.split())


def _names(words: Sequence[str]) -> tuple[Launch, Expected]:
    """Each word is a local that may change; some of them are buffers, too."""
    given, made = words[:BUFFERS], words[BUFFERS : 2 * BUFFERS]
    with program("names", 1) as p:
        inputs = [p.read(name, u32, COUNT) for name in given]
        outputs = [p.write(name, u32, COUNT) for name in made]
        every = p.write("every_local", u32, COUNT)
    own = Id(IdKind.GLOBAL_ID, 0)
    loads = [Load(array.decl, own) for array in inputs]
    variables = [Local(word, u32) for word in words]
    first: Expr = variables[0]
    is_odd = Apply(OPS["eq"], Apply(OPS["and"], loads[0], literal(u32, 1)), literal(u32, 1))
    body: Body = (
        *[Var(x.name, Apply(OPS["add"], loads[0], literal(u32, n))) for n, x in enumerate(variables)],
        If(is_odd, tuple(Assign(x.name, Apply(OPS["xor"], x, loads[1])) for x in variables)),
        *[Store(array.decl, own, load) for array, load in zip(outputs, loads, strict=True)],
        Store(every.decl, own, reduce(_mixed, variables[1:], first)),
    )
    columns = [[100 * n + k for k in range(COUNT)] for n in range(BUFFERS)]
    results = []
    for value, other in zip(*columns[:2], strict=True):
        values = [(value + n) ^ other if value & 1 else value + n for n in range(len(words))]
        results.append(reduce(lambda total, x: (total * 3 + x) % 2**32, values))
    launch = Launch(
        program=replace(p.build_unchecked(), body=body),
        inputs={name: pack(u32, column) for name, column in zip(given, columns, strict=True)},
    )
    return launch, Exactly((*(pack(u32, column) for column in columns), pack(u32, results)))


def _mixed(total: Expr, x: Expr) -> Expr:
    return Apply(OPS["add"], Apply(OPS["mul"], total, literal(u32, 3)), x)
