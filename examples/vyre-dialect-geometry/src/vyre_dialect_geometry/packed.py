"""Points of four bytes, packed into a u32: what a manifest cannot say.

Devices compare four bytes at once, where the language has to take them apart. So this op states texts for the languages
of devices beside its composition, and for tests what it must give.
"""

from __future__ import annotations

from collections.abc import Mapping

from vyre_foundation.dialects import Composition
from vyre_foundation.dialects.attributes import AttrSchema, AttrType, AttrValue
from vyre_foundation.dialects.lowering import LoweringCtx, LoweringTable, TextModule
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.expr import Apply, Expr, Literal, literal
from vyre_foundation.ops import OPS

AXES = AttrSchema("axes", AttrType(u32), 4)
"""How many of the bytes count, from the lowest."""


def distance(a: Expr, b: Expr, axes: Expr) -> Expr:
    """``abs_diff(a & 255, b & 255) + abs_diff(a >> 8 & 255, b >> 8 & 255) + …``"""
    assert isinstance(axes, Literal)
    total: Expr = literal(u32, 0)
    for axis in range(int(axes.value)):
        total = Apply(OPS["add"], total, Apply(OPS["abs_diff"], _byte(a, axis), _byte(b, axis)))
    return total


def _byte(x: Expr, axis: int) -> Expr:
    return Apply(OPS["and"], Apply(OPS["shr"], x, literal(u32, 8 * axis)), literal(u32, 255))


def in_opencl_c(ctx: LoweringCtx) -> TextModule:
    """`abs_diff` of vectors of bytes."""
    sums = " + ".join(f"d.s{axis}" for axis in range(int(ctx.attrs["axes"])))
    body = f"uchar4 d = abs_diff(as_uchar4(a), as_uchar4(b));\n    return {sums};"
    return TextModule(f"uint {ctx.symbol}(uint a, uint b) {{\n    {body}\n}}", ctx.symbol)


def in_cuda(ctx: LoweringCtx) -> TextModule | None:
    """One instruction for all four; fewer are as well taken apart."""
    if ctx.attrs["axes"] != 4:
        return None
    body = "return __vsadu4(a, b);"
    text = f"__device__ unsigned int {ctx.symbol}(unsigned int a, unsigned int b) {{\n    {body}\n}}"
    return TextModule(text, ctx.symbol)


def reference(a: int, b: int, *, axes: int) -> int:
    """From the bytes themselves."""
    first, second = a.to_bytes(4, "little"), b.to_bytes(4, "little")
    return sum(abs(x - y) for x, y in zip(first[:axes], second[:axes], strict=True))


def accepts(op: str, operands: tuple[DType, ...], attrs: Mapping[str, AttrValue]) -> str:
    """The dialect's validator: there are one to four axes."""
    axes = attrs.get("axes", 1)
    return "" if axes in range(1, 5) else f"a u32 has no {axes} bytes"


DISTANCE = Composition(
    "geometry.packed_distance",
    {(u32, u32, u32): u32},
    distance,
    "the distance along the axes of two points of four bytes each",
    attrs=(AXES,),
    lowerings=LoweringTable({"OpenCL C": in_opencl_c, "CUDA C++": in_cuda}, reference),
)
