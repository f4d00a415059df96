"""Operators of a kernel: Python applies those of what it knows, the program the others."""

from __future__ import annotations

import ast
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NoReturn, TypeGuard

import vyre_math
from vyre.kernels import overloads
from vyre.kernels.aggregates import StructValue, Vector, assemble, disassemble
from vyre.kernels.conversions import converted, operands_of
from vyre.kernels.device import DeviceFunction
from vyre.kernels.overloads import Overload
from vyre.kernels.reader import NodeReader, kind_of
from vyre.kernels.values import KernelArray, NumberChoice, fits, is_runtime
from vyre_foundation.build import Value, constant, select
from vyre_foundation.build.arguments import number
from vyre_foundation.dtype import DType, bool_, f32, i32, i64, u32, u64, widest
from vyre_foundation.ir.expr import Apply, Expr, Id, Literal

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda x, container: x in container,
    ast.NotIn: lambda x, container: x not in container,
}
_SWAPPED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
_WORDS: Mapping[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or"}
MAX_POWER = 64
"""The greatest exponent of an integer power that is written as products."""


class OperatorReader(NodeReader, ABC):
    """Reads arithmetic, comparisons, `and`, `or` and conditional expressions."""

    @abstractmethod
    def inline(self, callee: DeviceFunction, positional: Sequence[Any], named: Mapping[str, Any], node: ast.AST) -> Any:
        """Read the body of a device function in the place of its call."""

    def unify(self, operands: Sequence[Any], node: ast.AST) -> list[Value]:
        """Operands as values of one type: numbers take the type of the values beside them."""
        dtype = next((x.dtype for x in operands if isinstance(x, Value)), None)
        if dtype is None:
            for x in operands:
                self.value(x, bool_ if fits(x, bool_) else None, node)
        elif not dtype.is_float:
            self._refuse_float(operands, dtype, node)
        return [x if isinstance(x, Value) else self.value(x, dtype, node) for x in operands]

    def _refuse_float(self, operands: Sequence[Any], dtype: DType, node: ast.AST) -> None:
        """Refuse a float beside a value that is none, and name the conversion of the value."""
        found = next((number(x) for x in operands if isinstance(number(x), float)), None)
        if found is None:
            return
        written = "vy.f32(x)"
        if isinstance(node, ast.BinOp):
            written = ast.unparse(converted(node.left if isinstance(operands[0], Value) else node.right, f32))
        fix = f"write an integer, or convert the value, as in {written}"
        if any(map(_is_difference, operands)):
            fix = "convert before the subtraction, as in vy.f32(x) - 1.0: an unsigned difference wraps"
        self.refuse(node, f"got the float {found!r} beside a value of {dtype}", fix)

    def require_sign(self, operands: Sequence[Any], node: ast.AST, name: str) -> None:
        """Refuse what replaces a negative number by another, for an unsigned difference, which wraps."""
        if any(map(_is_difference, operands)) and all(_is_difference(x) or number(x) == 0 for x in operands):
            fix = "convert before the subtraction, as in vy.i32(x) - 1, or write it without, as in vy.max(x, 1) - 1"
            self.refuse(node, f"the unsigned difference that {name} gets is never negative: it wraps", fix)

    def _BinOp(self, node: ast.BinOp) -> object:
        return self.binary(node.op, self.eval(node.left), self.eval(node.right), node)

    def binary(self, op: ast.operator, x: Any, y: Any, node: ast.AST) -> object:
        """Apply a binary operator."""
        compute = _BINARY[type(op)]
        if isinstance(x, StructValue) or isinstance(y, StructValue):
            return self._overloaded(overloads.BINARY[type(op)], x, y, node)
        if isinstance(x, Vector) or isinstance(y, Vector):
            return self._vectors(op, x, y, node)
        if not is_runtime(x) and not is_runtime(y):
            return compute(x, y)
        for one, other in ((x, y), (y, x)):
            if isinstance(one, NumberChoice) and number(other) is not None:
                return one.map(lambda n: compute(n, other) if one is x else compute(other, n))  # noqa: B023
        if isinstance(x, (tuple, list)) or isinstance(y, (tuple, list)):
            static_count = isinstance(op, ast.Mult) and not isinstance(x, Value) and not isinstance(y, Value)
            if static_count or (isinstance(op, ast.Add) and type(x) is type(y)):
                return compute(x, y)  # sequences of values are joined and repeated as any others
        if isinstance(op, ast.Pow):
            return self._power(x, y, node)
        if isinstance(op, ast.LShift) and type(x) is int and isinstance(y, Value):
            self._refuse_wide_count(x, y, node)
        if isinstance(op, (ast.Add, ast.Sub)) and _is_unsigned(x) and type(y) is int and y < 0:
            return (operator.sub if isinstance(op, ast.Add) else operator.add)(x, self.value(-y, x.dtype, node))
        if isinstance(op, ast.Add) and _is_unsigned(y) and type(x) is int and x < 0:
            return y - self.value(-x, y.dtype, node)
        if isinstance(op, ast.Sub) and _is_unsigned(y) and type(x) is int and x < 0:
            fix = f"begin with what is greater, as in len(x) - {-x} - i, or convert to a signed type, as in vy.i32(i)"
            self.refuse(node, f"{x} less a value of {y.dtype} is below 0, and wraps", fix)
        if isinstance(op, (ast.Add, ast.Sub, ast.Mult)):
            self._refuse_truth(op, x, y, node)
        if isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            x, y = _wrapped_mask(x, y), _wrapped_mask(y, x)
        left, right = self.unify((x, y), node)
        if isinstance(op, ast.RShift) and left.dtype.is_integer and right.dtype.is_integer:
            right = right.cast(left.dtype)  # counts are taken modulo the width, which a conversion keeps
        if isinstance(op, ast.BitXor) and left.dtype.is_float:
            fix = "write `**` for a power; bits of a float are those of x.bitcast(vy.u32)"
            self.refuse(node, f"`^` is the exclusive or of integers, and got operands of {left.dtype}", fix)
        if left.dtype is not right.dtype:
            self._refuse_mixed(left, right, node)
        if left.dtype.is_integer and type(y) is int:
            self._refuse_meaningless(op, left, y, node)
        if isinstance(op, (ast.FloorDiv, ast.Mod)) and _is_unsigned(left):
            self._refuse_negative_dividend(op, left, right, node)
        if isinstance(op, ast.Div) and not left.dtype.is_float:
            self._refuse_division(left.dtype, (x, y), node)
        return compute(left, right)

    def _overloaded(self, overload: Overload, x: Any, y: Any, node: ast.AST) -> Any:
        """What a structure's method gives for an operator: that of the left operand, or else that of the right one."""
        for one, other, name in ((x, y, overload.method), (y, x, overload.reflected)):
            if isinstance(one, StructValue) and name in one.type.methods:
                found = self.inline(one.type.methods[name], [self.current(one), self.current(other)], {}, node)
                if found is not NotImplemented:
                    return found
        if isinstance(x, StructValue):
            self._refuse_operator(overload.sign, overload.method, x, node)
        self._refuse_operator(overload.sign, overload.reflected, y, node)

    def _refuse_operator(self, sign: str, method: str, x: StructValue, node: ast.AST) -> NoReturn:
        """Refuse an operator that a structure does not define by a method."""
        fix = f"define {method} in the structure, or compute with its fields, as in s.{next(iter(x.type.fields))}"
        self.refuse(node, f"{x.type.__name__!r} does not define the operator `{sign}`", fix)

    def _compared_structs(self, op: ast.cmpop, x: Any, y: Any, node: ast.AST) -> Any:
        """A comparison that a structure defines; without ``__ne__``, ``!=`` is the opposite of ``==``, as in Python."""
        defined = {name for z in (x, y) if isinstance(z, StructValue) for name in z.type.methods}
        if isinstance(op, ast.NotEq) and "__ne__" not in defined and "__eq__" in defined:
            same = self._overloaded(overloads.COMPARISONS[ast.Eq], x, y, node)
            return ~same if isinstance(same, Value) else not same
        return self._overloaded(overloads.COMPARISONS[type(op)], x, y, node)

    def _refuse_meaningless(self, op: ast.operator, x: Value, y: int, node: ast.AST) -> None:
        """Refuse a divisor of 0, a shift by more bits than there are, and one of a product that leaves its sign.

        What they give is defined, but not meant. The last is a product of fixed-point numbers without its upper half.
        """
        dtype = x.dtype
        if isinstance(op, (ast.FloorDiv, ast.Mod)) and y == 0:
            self.refuse(node, "the divisor is 0", "divide by another number")
        if isinstance(op, (ast.LShift, ast.RShift)) and y >= dtype.bits:
            fix = f"shift by 0 … {dtype.bits - 1}, or convert to a wider type"
            self.refuse(node, f"a value of {dtype} is shifted by {y} bits, and has {dtype.bits}", fix)
        if isinstance(op, ast.RShift) and dtype.is_signed and y == dtype.bits - 1 and _is_product(x.expr):
            fix = "write vy.mul_high(x, y), which gives the upper half of the product"
            if dtype is not i64:
                wide = i32 if dtype.bits < 32 else i64
                fix = f"convert before, as in {ast.unparse(converted(operands_of(node)[0], wide))} >> {y}"
            self.refuse(node, f"a product of {dtype} is shifted by {y} bits, which leaves only its sign", fix)

    def _refuse_negative_dividend(self, op: ast.operator, x: Value, y: Value, node: ast.AST) -> None:
        """Refuse to divide ``-n``, and ``i - 1`` of what begins at 0: what wraps has another quotient and remainder."""
        if isinstance(op, ast.Mod) and isinstance(y.expr, Literal) and y.expr.bits.bit_count() == 1:
            return  # a power of two: wrapping does not change the remainder
        dividend, divisor = operands_of(node)
        by = ast.unparse(divisor)
        match x.expr:
            case Apply(op=applied) if applied.id == "neg":
                n = ast.unparse(dividend.operand) if isinstance(dividend, ast.UnaryOp) else "x"
                fix = f"write vy.ceil_div({n}, {by}), which rounds up, for -(-{n} // {by})"
                if isinstance(op, ast.Mod):
                    fix = f"write ({by} - {n} % {by}) % {by}"
                self.refuse(node, f"a negated value of {x.dtype} wraps before it is divided", fix)
            case Apply(op=applied, args=(first, Literal(bits=less))) if applied.id == "sub" and isinstance(op, ast.Mod):
                if first not in self.tested and (first in self.from_zero or isinstance(first, Id)):
                    n = ast.unparse(dividend.left) if isinstance(dividend, ast.BinOp) else "i"
                    below = str(less if less == 1 else f"{less} % {by}")
                    if isinstance(y.expr, Literal) and y.expr.bits:
                        below = str(less % y.expr.bits)
                    fix = f"add the divisor before, as in ({n} + {by} - {below}) % {by}"
                    message = f"the dividend begins at -{less}, which wraps in {x.dtype}, so it has another remainder"
                    self.refuse(node, message, fix)

    def _refuse_wide_count(self, x: int, y: Value, node: ast.AST) -> None:
        """Refuse ``1 << count`` where the number would have the type of a count that may reach its width."""
        bits, highest = y.dtype.bits, _highest(y.expr)
        is_below = bits >= 32 if highest is None else highest < bits
        if is_below or not y.dtype.is_integer or bits == 64:
            return
        count = operands_of(node)[1]
        wide = u32 if highest is None or highest < 32 else u64
        first, second = (
            ast.unparse(ast.BinOp(ast.Name(f"vy.{dtype}({x})"), ast.LShift(), by))
            for dtype, by in ((wide, converted(count, wide)), (y.dtype, count))
        )
        fix = f"give the number its type, as in {first}, or in {second}"
        self.refuse(node, f"{x} would be a value of {y.dtype}, whose shifts are taken modulo {bits}", fix)

    def _refuse_truth(self, op: ast.operator, x: Any, y: Any, node: ast.AST) -> None:
        """Refuse to compute with truth values alone: Python takes them for integers, whose type is not known here."""
        pairs = zip((x, y), operands_of(node), strict=True)
        truths = [written for operand, written in pairs if isinstance(operand, Value) and operand.dtype is bool_]
        if truths and not any(isinstance(operand, Value) and operand.dtype is not bool_ for operand in (x, y)):
            fix = f"convert it, as in {ast.unparse(converted(truths[0], i32 if isinstance(op, ast.Sub) else u32))}"
            self.refuse(node, f"got a truth value as an operand of `{overloads.BINARY[type(op)].sign}`", fix)

    def _refuse_mixed(self, left: Value, right: Value, node: ast.AST) -> NoReturn:
        """Refuse operands of two types, and name a conversion: to the float, or to the wider type."""
        wide = widest((left.dtype, right.dtype))
        narrow = left.dtype if wide is right.dtype else right.dtype
        written = ast.unparse(converted(operands_of(node)[0 if wide is right.dtype else 1], wide, narrow))
        fix = f"convert one of them, as in {written}"
        self.refuse(node, f"got operands of {left.dtype} and {right.dtype}, expected one type", fix)

    def _refuse_division(self, dtype: DType, given: Sequence[Any], node: ast.AST) -> NoReturn:
        """Refuse `/` of integers, and name the division that gives one, and that of floats."""
        left, right = operands = operands_of(node)
        whole = f"vy.floor_div({ast.unparse(left)}, {ast.unparse(right)})"
        if not dtype.is_signed:
            whole = ast.unparse(ast.BinOp(left, ast.FloorDiv(), right))
        floats = [converted(part, f32) if is_runtime(x) else part for part, x in zip(operands, given, strict=True)]
        quotient = ast.unparse(ast.BinOp(floats[0], ast.Div(), floats[1]))
        fix = f"write {whole} for a whole number, or convert to a type of floats, as in {quotient}"
        self.refuse(node, f"Python's `/` means something else than the program's division of {dtype}", fix)

    def _vectors(self, op: ast.operator, x: Any, y: Any, node: ast.AST) -> Vector:
        """Apply a binary operator to the components of vectors, or to each and one number."""
        size = len(x if isinstance(x, Vector) else y)
        left = x if isinstance(x, Vector) else (x,) * size
        right = y if isinstance(y, Vector) else (y,) * size
        if len(left) != len(right):
            fix = "use vectors of one size"
            self.refuse(node, f"got vectors of {len(left)} and {len(right)} components", fix)
        return Vector(self.binary(op, a, b, node) for a, b in zip(left, right, strict=True))

    def _power(self, x: Any, y: Any, node: ast.AST) -> object:
        if isinstance(x, Value) and x.dtype.is_float and type(y) is int and y == 2:
            return x * x  # one rounding, as the power has
        if _is_integer(x) and type(y) is int and 0 <= y <= MAX_POWER:
            result = constant(x.dtype, 1)
            for _ in range(y):
                result = x if isinstance(result.expr, Literal) else result * x
            return result
        if _is_integer(x) or (type(x) is int and _is_integer(y)):
            fix = "write the product as a loop"
            if type(x) is int and x == 2:
                fix = f"write a shift, as in vy.u32(1) << {ast.unparse(operands_of(node)[1])}"
            message = f"the exponent of an integer must be a number in 0 … {MAX_POWER} that is known at compile time"
            self.refuse(node, message, fix)
        left, right = self.unify((x, y), node)
        return vyre_math.pow(left, right)

    def _UnaryOp(self, node: ast.UnaryOp) -> object:
        if isinstance(node.op, ast.Not):
            return self.test(node)
        x = self.eval(node.operand)
        compute = _UNARY[type(node.op)]
        if isinstance(node.op, ast.Invert) and isinstance(x, Value) and x.dtype.is_float:
            fix = "write `not` for a truth value, or -x; x.bitcast(vy.u32) has the bits of a float"
            self.refuse(node, f"`~` inverts the bits of integers, and got a value of {x.dtype}", fix)
        if isinstance(x, Vector):
            return Vector(compute(part) for part in x)
        if isinstance(x, StructValue):
            overload = overloads.UNARY[type(node.op)]
            if overload.method in x.type.methods:
                return self.inline(x.type.methods[overload.method], [self.current(x)], {}, node)
            self._refuse_operator(overload.sign, overload.method, x, node)
        return x.map(compute) if isinstance(x, NumberChoice) else compute(x)

    def _BoolOp(self, node: ast.BoolOp) -> object:
        """`and` and `or` of objects of Python give one of them; of values of bool, a value of bool."""
        is_and = isinstance(node.op, ast.And)
        result: Any = self.eval(node.values[0])
        before = node.values[0]
        for part in node.values[1:]:
            if not is_runtime(result):
                if bool(result) is not is_and:
                    return result
                result, before = self.eval(part), part
                continue
            first = self._bool(result, before)
            with self.under_condition():
                second = self._bool(self.eval(part), part)
            if isinstance(second, bool):
                if second is not is_and:
                    return second
                result = first
            else:
                result = first & second if is_and else first | second
        return result

    def _bool(self, x: Any, node: ast.expr) -> Any:
        """An operand of `and` or `or` beside a value of the program."""
        if isinstance(x, bool):
            return x
        if isinstance(x, NumberChoice):
            return x.truth()
        if isinstance(x, Value) and x.dtype is bool_:
            return x
        got = f"a value of {x.dtype}" if isinstance(x, Value) else kind_of(x)
        self.refuse(node, f"got {got} as an operand of `and` or `or`", "compare it, as in x != 0")

    def test(self, node: ast.expr) -> bool | Value:
        """The truth of an expression: a bool where Python knows it, else a value of bool."""
        if isinstance(node, ast.Tuple) and node.elts:
            self.refuse(
                node, "a tuple is tested, which is always true", "write the condition without parentheses and comma"
            )
        if isinstance(node, ast.BoolOp):
            return self._logic(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = self.test(node.operand)
            return (not found) if isinstance(found, bool) else ~found
        return self.truth(self.eval(node), node)

    def _logic(self, node: ast.BoolOp) -> bool | Value:
        """`and` and `or` of truths. What Python knows decides at once, as in Python."""
        is_and = isinstance(node.op, ast.And)
        self._refuse_bare_number(node)
        result: bool | Value = is_and
        for part in node.values:
            if isinstance(result, bool):
                if result is not is_and:
                    return result
                result = self.test(part)
                continue
            with self.under_condition():
                x = self.test(part)
            if not isinstance(x, bool):
                result = result & x if is_and else result | x
            elif x is not is_and:
                return x
        return result

    def _refuse_bare_number(self, node: ast.BoolOp) -> None:
        """Refuse ``x == 1 or 2``, which is true for every x."""
        compared = next((x for x in node.values if isinstance(x, ast.Compare)), None)
        for part in node.values:
            if compared is not None and isinstance(part, ast.Constant) and not isinstance(part.value, bool):
                again = ast.Compare(compared.left, compared.ops[:1], [part])
                fix = f"write the comparison again, as in {ast.unparse(again)}"
                self.refuse(
                    part, f"{ast.unparse(part)} is an operand of `and` or `or`, and always {bool(part.value)}", fix
                )

    def _Compare(self, node: ast.Compare) -> object:
        self._refuse_bound_first(node)
        left = self.eval(node.left)
        result: bool | Value | Any = True
        for number_, (op, part) in enumerate(zip(node.ops, node.comparators, strict=True)):
            with self.under_condition() if isinstance(result, Value) else nullcontext():
                right = self.eval(part)
            found = self._comparison(op, left, right, node)
            left = right
            if number_ == 0:
                result = found
            elif isinstance(result, Value) and isinstance(found, Value):
                result = result & found
            elif isinstance(result, Value):
                result = result if found else False
            else:
                result = found if result else result
            if not isinstance(result, Value) and not is_runtime(result) and not result:
                return result
        return result

    def _refuse_bound_first(self, node: ast.Compare) -> None:
        """Refuse ``a > b & c < d``, which asks for ``a > (b & c) < d``, where no parentheses say that this is meant."""
        for part in node.comparators[:-1]:
            if isinstance(part, ast.BinOp) and (word := _WORDS.get(type(part.op))):
                line = self.frame.source.lines[part.lineno - self.frame.source.first].encode()
                if not line[: part.col_offset].rstrip().endswith(b"("):
                    sign, names = ("&", "and") if word == "and" else ("|", "or"), ast.unparse(part)
                    fix = f"write `{word}` for the operator, or parentheses, as in ({names})"
                    message = f"`{sign[0]}` binds more strongly than comparisons, so ({names}) is compared"
                    self.refuse(node, message, fix)

    def _comparison(self, op: ast.cmpop, x: Any, y: Any, node: ast.AST) -> Any:
        compute = _COMPARE[type(op)]
        if type(op) in overloads.COMPARISONS and (isinstance(x, StructValue) or isinstance(y, StructValue)):
            return self._compared_structs(op, x, y, node)
        if isinstance(op, (ast.In, ast.NotIn)) and isinstance(x, (Value, NumberChoice, StructValue)):
            if isinstance(y, KernelArray):
                self.refuse(node, f"`in` does not search the array {y.place!r}", "compare in a loop")
            found: Value | None = None
            for element in y:
                same = self._comparison(ast.Eq(), x, element, node)
                found = same if found is None else found | same
            if found is None:
                return isinstance(op, ast.NotIn)
            return found if isinstance(op, ast.In) else ~found
        if not is_runtime(x) and not is_runtime(y):
            return compute(x, y)
        if isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            if x is None or y is None:
                return isinstance(op, ast.IsNot)
            self.refuse(node, "the identity of a value is not known", "compare with == and !=")
        for one, other in ((x, y), (y, x)):
            if isinstance(one, NumberChoice) and number(other) is not None:
                return one.map(lambda n: compute(n, other) if one is x else compute(other, n)).truth()  # noqa: B023
        self._refuse_vacuous(type(op), x, y, node)
        left, right = self.unify((x, y), node)
        self.tested |= {one.expr for one, other in ((left, y), (right, x)) if number(other) is not None}
        if left.dtype is not right.dtype:
            self._refuse_mixed(left, right, node)
        return compute(left, right)

    def _refuse_vacuous(self, op: type[ast.cmpop], x: Any, y: Any, node: ast.AST) -> None:
        """Refuse to compare with NaN, or to ask whether an unsigned value, or a difference of such, is negative."""
        if any(isinstance(n, float) and math.isnan(n) for n in (number(x), number(y))):
            self.refuse(node, "every comparison with NaN is constant", "write vy.is_nan(x)")
        if isinstance(y, Value) and not isinstance(x, Value):
            x, y, op = y, x, _SWAPPED.get(op, op)
        if _is_unsigned(x) and type(y) is int and (y < 0 or (y == 0 and op in (ast.GtE, ast.Lt))):
            fix = "compare before the subtraction, as in x > 0, or convert the operands with .cast(vy.i32)"
            if y < 0:
                fix = f"write what it wraps to, {hex(y % 2**x.dtype.bits)}, or convert the operands with .cast(vy.i32)"
            self.refuse(node, f"a value of {x.dtype} is never negative, so the comparison with {y} is constant", fix)
        if _is_difference(x) and type(y) is int and y == 0 and op in (ast.Gt, ast.LtE):
            sign = ">" if op is ast.Gt else "<="
            fix = f"compare what is subtracted, as in x {sign} y, or ask whether they differ, as in x != y"
            self.refuse(node, f"an unsigned difference wraps, so `{sign} 0` asks only whether it is 0", fix)

    def _IfExp(self, node: ast.IfExp) -> object:
        condition = self.test(node.test)
        if isinstance(condition, bool):
            return self.eval(node.body if condition else node.orelse)
        with self.under_condition():
            return self._choose(condition, self.eval(node.body), self.eval(node.orelse), node)

    def _choose(self, condition: Value, x: Any, y: Any, node: ast.AST) -> object:
        structure, leaves = disassemble(x)
        other, others = disassemble(y)
        if structure is not None and structure == other:
            pairs = zip(leaves, others, strict=True)
            return assemble(structure, iter([self._choose(condition, a, b, node) for a, b in pairs]))
        if isinstance(x, Value) or isinstance(y, Value):
            left, right = self.unify((x, y), node)
            return select(condition, left, right)
        for arm in (x, y):
            if not isinstance(arm, NumberChoice) and number(arm) is None:
                fix = "choose between numbers or values, such as 0 and 1"
                self.refuse(node, f"got {kind_of(arm)}, which the program cannot choose", fix)
        return NumberChoice(condition, x, y)


def _highest(root: Expr) -> int | None:
    """The highest value of a number of bits, or of a remainder, that is written as ``x & 7`` or ``x % 8``."""
    match root:
        case Apply(op, (_, Literal(bits=divisor))) if op.id == "rem":
            return divisor - 1
        case Apply(op, (Literal(bits=mask), _) | (_, Literal(bits=mask))) if op.id == "and":
            return mask
    return None


def _is_product(root: Expr) -> bool:
    """Whether a value is the product of two others, or such a product and a number."""
    match root:
        case Apply(op, (left, right)) if op.id in ("add", "sub"):
            return any(isinstance(b, Literal) and _is_product(a) for a, b in ((left, right), (right, left)))
        case Apply(op, args):
            return op.id == "mul" and not any(isinstance(part, Literal) for part in args)
    return False


def _wrapped_mask(x: Any, beside: Any) -> Any:
    """A negative number beside an unsigned value as the bits that it has, as in ``x & ~15``."""
    if _is_unsigned(beside) and type(x) is int and -(1 << (beside.dtype.bits - 1)) <= x < 0:
        return x % (1 << beside.dtype.bits)
    return x


def _is_difference(x: object) -> TypeGuard[Value]:
    """Whether a value is an unsigned difference, which wraps where it would be negative."""
    return _is_unsigned(x) and isinstance(x.expr, Apply) and x.expr.op.id == "sub"


def _is_unsigned(x: object) -> TypeGuard[Value]:
    return _is_integer(x) and not x.dtype.is_signed


def _is_integer(x: object) -> TypeGuard[Value]:
    return isinstance(x, Value) and x.dtype.is_integer
