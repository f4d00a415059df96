"""Changes of a float's sign that a compiler cannot see, where there are barriers.

Compilers that make one function of all invocations of a workgroup keep what lives across a barrier in memory, and find
it by its instruction. One that does not know the instruction for ``-x`` there loses the value, or ends. No other
spelling helps: ``x * -1``, ``-0 - x`` and the sign bit by itself all become that instruction. So the bit is taken from
something that the compiler cannot know, and the sign is changed as a bit.

Compiler: Intel's CPU runtime, seen in 2026.22. Programs: `tests/quirks/test_hidden_signs.py` on the device, without the
pass.
"""

from __future__ import annotations

from collections.abc import Callable

from vyre_driver.legalization.declare import declare
from vyre_foundation.dtype import DType, f32, u32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Literal, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Barrier, Let, Subgroup
from vyre_foundation.ir.walk import program_expressions, rebuilt, rewrite_body, statements, transform, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.passes import Pass

_MIXES_BITS = frozenset("xor or and add sub".split())
"""What a sign bit may be an operand of to change, set or clear it."""


def hide_signs(program: Program, context: object) -> Program:
    """Make negations of floats opaque to the compiler.

    ``-x``  →  ``let sign = select(num_workgroups.x != 0, 0x80000000, 0); … bitcast<f32>(bitcast<u32>(x) ^ sign)``

    Of legalized programs: nothing but what the target spells is in them, nor in the result. A launch has workgroups.
    """
    if not any(isinstance(s, (Barrier, Subgroup)) for s in statements(program.body)):
        return program
    if not any(node.dtype.is_float for node in program_expressions(program)):
        return program
    hider, memo = _Hider(Fresh.of(program)), dict[Expr, Expr]()
    body = rewrite_body(program.body, lambda s: with_expressions(s, lambda e: transform(e, hider.node, memo)))
    return declare(program, (*hider.lets.values(), *body) if hider.lets else program.body)


HIDE_SIGNS: Pass[object] = Pass("hide-signs", "Hide changes of signs of floats where there are barriers", hide_signs)


class _Hider:
    """`lets` are the sign bits that somebody asked for, by their type."""

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self._fresh = fresh
        self.lets: dict[DType, Let] = {}

    def node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        match node:
            case Apply() if node.dtype.is_float and (operand := _negated(node)) is not None:
                return self._flipped(args[operand])
            case Apply(op) if op.id in _MIXES_BITS and node.dtype.is_integer:
                return node.rebuild(tuple([self._hidden(arg) for arg in args]))
            case _:
                return rebuilt(node, args)

    def _flipped(self, x: Expr) -> Expr:
        """-x. An f16 is an f32 on the way, which it is exactly."""
        if x.dtype.bits < f32.bits:
            return Cast(x.dtype, self._flipped(Cast(f32, x)))
        bits = x.dtype.unsigned
        return Bitcast(x.dtype, Apply(OPS["xor"], Bitcast(bits, x), self._sign(bits)))

    def _hidden(self, x: Expr) -> Expr:
        if not (isinstance(x, Literal) and x.bits == 1 << (x.dtype.bits - 1) and x.dtype.bits >= f32.bits):
            return x
        sign = self._sign(x.dtype.unsigned)
        return sign if sign.dtype is x.dtype else Bitcast(x.dtype, sign)

    def _sign(self, dtype: DType) -> Local:
        if dtype not in self.lets:
            runs = Apply(OPS["ne"], Id(IdKind.NUM_WORKGROUPS, 0), literal(u32, 0))
            bit = Select(runs, literal(dtype, 1 << (dtype.bits - 1)), literal(dtype, 0))
            self.lets[dtype] = Let(self._fresh("sign"), bit)
        return Local(self.lets[dtype].name, dtype)


def _negated(node: Apply) -> int | None:
    """Which operand of an operation on floats it gives with the other sign, if that is all it does."""
    match node.op.id, node.args:
        case "neg", _:
            return 0
        case (("mul" | "div"), (_, Literal(value=-1.0))):
            return 0
        case "mul", (Literal(value=-1.0), _):
            return 1
        case "sub", (Literal() as zero, _) if zero.bits == 1 << (zero.dtype.bits - 1):
            return 1
        case _:
            return None
