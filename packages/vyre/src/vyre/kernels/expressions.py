"""Expressions of a kernel: what Python knows is computed, the rest becomes values of the program."""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeGuard

import numpy as np

import vyre_math
from vyre.kernels import intrinsics
from vyre.kernels.aggregates import (
    COMPONENTS,
    StructType,
    Structure,
    StructValue,
    Variables,
    Vector,
    VectorType,
    assemble,
    disassemble,
    map_leaves,
)
from vyre.kernels.frame import Frame, Hints
from vyre.kernels.source import assigned_names
from vyre.kernels.values import (
    ElementPart,
    KernelArray,
    LoopName,
    Merged,
    Number,
    NumberChoice,
    Unbound,
    common_type,
    fits,
    has_type_or_number,
    is_runtime,
    public_name,
    typed_text,
)
from vyre_foundation.build import Mutable, ProgramBuilder, Value, constant, select
from vyre_foundation.build.arguments import number, shown
from vyre_foundation.dtype import DType, bool_, u32
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Id, IdKind, Literal

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
_CONVERSIONS: Mapping[int, Callable[[object], object]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
OTHER_NAMES = {
    "absolute": "abs", "arccos": "acos", "arcsin": "asin", "arctan": "atan", "arctan2": "atan2",
    "bit_count": "popcount", "clip": "clamp", "fabs": "abs", "isfinite": "is_finite", "isinf": "is_inf",
    "isnan": "is_nan", "maximum": "max", "minimum": "min", "power": "pow", "rint": "round", "where": "select",
}  # fmt: skip
"""What functions of NumPy and Python are called in vyre."""
_OF_ARRAYS = ("sum", "min", "max", "any", "all")
"""What Python calls a function of `vyre` that computes with arrays, on the host."""
_TAKE_ALL = (sum, min, max, list, tuple, set, frozenset, dict, sorted)
"""The functions of Python that take all elements of a generator before they do anything else."""
MAX_POWER = 64
"""The greatest exponent of an integer power that is written as products."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What is open: an expression that Python evaluates only under a condition, and the program always."""

    place: str
    """What messages call the expression."""
    fix: str
    """What to write instead where the expression acts."""
    frames: int
    """How many functions were being read where it begins."""
    buffers: frozenset[str]
    """The buffers that were declared before it."""


class IterationLeft(Exception):
    """An unrolled loop is left, or its iteration: the word of the statement that does so is `word`."""

    def __init__(self, word: str) -> None:
        self.word = word


class VariableNeeded(Exception):
    """A name needs a variable before a loop of the program, so the kernel is read again.

    `key` is the loop's number among the branches and loops, and the name; `types` are those of the variable.
    """

    def __init__(self, block: int, name: str, structure: Structure | None, dtypes: tuple[DType, ...]) -> None:
        self.block, self.key, self.types = block, (block, name), (structure, dtypes)


class ExpressionReader(ABC):
    """Reads expressions, one method for each kind of node."""

    def __init__(self, builder: ProgramBuilder, frame: Frame, shape: tuple[int | Value, ...], known: Hints) -> None:
        self.builder, self.shape, self.known = builder, shape, known
        self.frames = [frame]
        self.found = Hints({}, is_guarded=known.is_guarded)
        """What this reading found out, for the next one."""
        self.depth = 0
        """How many branches and loops of the program are open."""
        self.conditions: list[Condition] = []
        """What is open that Python would evaluate only under a condition, outermost first."""
        self.has_effects = self.has_barrier = False
        self.tables: dict[int, tuple[KernelArray, object]] = {}
        self.buffer_names: set[str] = set()
        self.own_uses: list[tuple[KernelArray, ast.AST]] = []
        """The parameters that are indexed by the place of the invocation, each with where it is."""
        self.assigned = ""
        """The name to which the value of the expression will be assigned."""

    @property
    def frame(self) -> Frame:
        """The function that is being read."""
        return self.frames[-1]

    def refuse(self, node: ast.AST, message: str, fix: str) -> NoReturn:
        """Raise the error for a node."""
        raise self.frame.source.error(node, message, fix)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Let errors of the builder, and of Python, point at a node."""
        try:
            yield
        except VyreError as error:
            if error.fields.get("line") is not None:
                raise
            fix = re.sub(
                r"\.cast\((\w+)\)", r".cast(vy.\1)", error.fix
            )  # a kernel sees the types through the front door
            raise self.frame.source.error(node, error.message, fix) from error
        except (IterationLeft, VariableNeeded, RecursionError):
            raise
        except Exception as error:
            message = f"{type(error).__name__} while the kernel is compiled: {error}"
            known = OTHER_NAMES.get(getattr(error, "name", None) or "")
            fix = f"write vy.{known}" if known else "correct the expression"
            raise self.frame.source.error(node, message, fix) from error

    # ── entry points ─────────────────────────────────────────────────────────────────────────────────────────────────

    def eval(self, node: ast.expr) -> Any:
        """The value of an expression: an object of Python, or what the program knows only when it runs."""
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            self.refuse(node, f"got {_described(node)}, which a kernel cannot have", "write it without")
        with self.at(node):
            return method(node)

    def test(self, node: ast.expr) -> bool | Value:
        """The truth of an expression: a bool where Python knows it, else a value of bool."""
        if isinstance(node, ast.BoolOp):
            return self._logic(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            found = self.test(node.operand)
            return (not found) if isinstance(found, bool) else ~found
        return self.truth(self.eval(node), node)

    def truth(self, x: Any, node: ast.AST) -> bool | Value:
        """Whether a value is not 0, as a bool or a value of bool."""
        if isinstance(x, Value):
            return x if x.dtype is bool_ else x != 0
        if isinstance(x, NumberChoice):
            return x.truth()
        if isinstance(x, KernelArray):
            self.refuse(node, f"the truth of the array {x.place!r} is not one value", "test an element, as in x[i] > 0")
        with self.at(node):
            return bool(x)

    def value(self, x: Any, dtype: DType | None, node: ast.AST) -> Value:
        """An operand as a value of a type; of any type where `dtype` is None."""
        if isinstance(x, Value):
            if dtype is not None and x.dtype is not dtype:
                fix = "compare it, as in x != 0" if dtype is bool_ else f"convert it with .cast(vy.{dtype})"
                self.refuse(node, f"got a value of {x.dtype}, expected {dtype}", fix)
            return x
        if isinstance(x, KernelArray):
            self.refuse(node, f"got the array {x.place!r}, expected a value", f"index it, as in {x.place}[i]")
        if isinstance(x, ElementPart):
            self.refuse(node, f"got {_kind(x)}, expected a value", f"index it, as in {x.name}[i]")
        literal = number(x)
        if literal is None and not isinstance(x, NumberChoice):
            self.refuse(node, f"got {_kind(x)}, expected a value or a number", "pass a value or a number")
        if dtype is None:
            typed = f"vy.f32({literal})" if isinstance(literal, float) else "vy.u32(1)"
            self.refuse(node, "a number has no type here", f"give it one, as in {typed}")
        if isinstance(x, NumberChoice):
            return x.typed(lambda n: self._literal(n, dtype, node))
        assert literal is not None
        return self._literal(literal, dtype, node)

    def _literal(self, x: Number, dtype: DType, node: ast.AST) -> Value:
        if isinstance(x, float) and not dtype.is_float:
            self.refuse(node, f"got the float {x!r}, expected {dtype}", f"write an integer, or vy.{dtype}(…)")
        if isinstance(x, bool) and dtype is not bool_:
            self.refuse(node, f"got {x}, expected {dtype}", f"write {int(x)}")
        return self.literal(x, dtype, node)

    def literal(self, x: Number, dtype: DType, node: ast.AST) -> Value:
        """A number as a value of a type, which must hold it: a float is rounded, but not to an infinity."""
        with self.at(node):
            found = constant(dtype, x)
        is_infinite = isinstance(found.expr, Literal) and math.isinf(found.expr.value)
        if is_infinite and not (isinstance(x, float) and math.isinf(x)):
            fix = "use a type that holds it, or write float('inf')"
            self.refuse(node, f"{shown(x)} is not a value of {dtype}", fix)
        return found

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
        written = "x"
        if isinstance(node, ast.BinOp):
            written = ast.unparse(node.left if isinstance(operands[0], Value) else node.right)
        fix = f"write an integer, or convert the value, as in vy.f32({written})"
        if any(map(_is_difference, operands)):
            fix = "convert before the subtraction, as in vy.f32(x) - 1.0: an unsigned difference wraps"
        self.refuse(node, f"got the float {found!r} beside a value of {dtype}", fix)

    def require_sign(self, operands: Sequence[Any], node: ast.AST, name: str) -> None:
        """Refuse what replaces a negative number by another, for an unsigned difference, which wraps."""
        if any(map(_is_difference, operands)) and all(_is_difference(x) or number(x) == 0 for x in operands):
            fix = "convert before the subtraction, as in vy.i32(x) - 1, or write it without, as in vy.max(x, 1) - 1"
            self.refuse(node, f"the unsigned difference that {name} gets is never negative: it wraps", fix)

    @contextmanager
    def under_condition(
        self, place: str = "an operand that is evaluated under a condition", fix: str = "write an `if` statement"
    ) -> Iterator[None]:
        """Read an expression that Python would evaluate only under a condition; `fix`: what to write if it acts."""
        self.conditions.append(Condition(place, fix, len(self.frames), frozenset(self.buffer_names)))
        try:
            yield
        finally:
            self.conditions.pop()

    def effect(self, node: ast.AST, what: str) -> None:
        """Note that the program acts here, and refuse it where it would act whatever the condition is."""
        self._refuse_under_condition(node, what)
        self.has_effects = True

    def _stored(self, array: KernelArray, indices: Sequence[int | Value], node: ast.AST) -> None:
        """Note a store, which is refused where others see it whatever the condition is."""
        if self.conditions and array.array.decl.name in self.conditions[-1].buffers:
            self._refuse_under_condition(node, "a store")
        if not self._is_own_element(array, indices) and array.array.decl.memory.is_host_visible:
            self.has_effects = True

    def _refuse_under_condition(self, node: ast.AST, what: str) -> None:
        if self.conditions:
            condition = self.conditions[-1]
            self.refuse(node, f"{what} in {condition.place} acts always", condition.fix)

    @property
    def is_conditional(self) -> bool:
        """Whether the function that is being read may not come here, or come here several times."""
        is_operand = bool(self.conditions) and self.conditions[-1].frames == len(self.frames)
        return is_operand or self.depth > self.frame.depth

    def may_change(self, x: object) -> bool:
        """Whether an object of Python may be changed here: it is then, while the kernel is compiled, and only once.

        A function that is called under a condition may change what it has made, not what its callers hold.
        """
        held = (y for frame in self.frames[:-1] for y in frame.names.values())
        return not self.is_conditional and (self.depth == 0 or not any(y is x for y in held))

    # ── names and literals ───────────────────────────────────────────────────────────────────────────────────────────

    def _Constant(self, node: ast.Constant) -> object:
        return node.value

    def _Name(self, node: ast.Name) -> object:
        frame, name = self.frame, node.id
        if name in frame.names:
            return self.read(frame.names[name], node)
        if name in frame.own:
            self.refuse(node, f"{name!r} has no value here", f"give {name!r} a value before")
        if name in frame.outer:
            return frame.outer[name]
        self.refuse(node, f"the name {name!r} is not defined", "define it before the kernel is first called")

    def read(self, found: object, node: ast.AST) -> object:
        """What a name stands for at this point of the program."""
        if isinstance(found, Mutable):
            return found.get()
        if isinstance(found, Variables):
            return self.current(found.thing())
        if isinstance(found, Unbound):
            self.refuse(node, found.message, found.fix)
        if isinstance(found, Merged):
            return self._merged(found, node)
        if isinstance(found, LoopName):
            return self._carried(found, node)
        return found

    def _carried(self, found: LoopName, node: ast.AST) -> object:
        """The value before the loop of a name that the loop may change; what is no number has none in the loop."""
        if not all(map(has_type_or_number, disassemble(found.before)[1])):
            unbound = found.unbound()
            self.refuse(node, unbound.message, unbound.fix)
        found.is_read = True
        return found.before

    def current(self, x: Any) -> Any:
        """A thing with the values that its variables have at this point of the program."""
        return map_leaves(x, lambda leaf: leaf.get() if isinstance(leaf, Mutable) else leaf)

    def _merged(self, found: Merged, node: ast.AST) -> object:
        """The value behind an ``if`` of a name that its branches set; from the next reading on it is a variable."""
        name = "the result" if found.name == "return" else repr(found.name)
        values = [self.read(x, node) if isinstance(x, Merged) else x for x in found.values]
        taken = [disassemble(x) for x in values]
        structure = taken[0][0]
        line = self.frame.source.line_of(found.node)
        if any(other != structure for other, _ in taken):
            message = f"the branches of the `if` at line {line} give {name} values that are made of different parts"
            self.refuse(node, message, "give it values of one kind")
        dtypes = tuple(
            self._common_dtype(leaves, name, line, found.node, node)
            for leaves in zip(*(leaves for _, leaves in taken), strict=True)
        )
        self.found.merged[found.block, found.name] = structure, dtypes
        return assemble(structure, iter([constant(dtype, 0) for dtype in dtypes]))

    def _common_dtype(self, values: Sequence[Any], name: str, line: int, branches: ast.AST, node: ast.AST) -> DType:
        """The type of what the branches of an ``if`` give a name."""
        dtypes = {x.dtype for x in values if isinstance(x, (Value, Mutable))}
        if len(dtypes) > 1:
            got = " and ".join(sorted(dtype.name for dtype in dtypes))
            self.refuse(branches, f"{name} is of {got} in the branches of this `if`", "convert them to one type")
        if not all(isinstance(x, (Value, Mutable, NumberChoice)) or number(x) is not None for x in values):
            message = f"the branches of the `if` at line {line} give {name} values that are no numbers"
            self.refuse(node, message, "give it numbers and values of the program")
        plain = [number(x) for x in values if not isinstance(x, NumberChoice)]
        if not dtypes and plain and all(isinstance(x, bool) for x in plain):
            dtypes = {bool_}
        if not dtypes:
            message = f"the branches of the `if` at line {line} give {name} values that have no type"
            typed = typed_text(plain[0]) if plain and plain[0] is not None else "vy.i32(1)"
            self.refuse(node, message, f"give them one, as in {typed}")
        (dtype,) = dtypes
        for x in values:
            if not isinstance(x, Mutable):
                self.value(x, dtype, branches)
        return dtype

    def _Tuple(self, node: ast.Tuple) -> tuple[object, ...]:
        return tuple(self._items(node.elts))

    def _List(self, node: ast.List) -> list[object]:
        return self._items(node.elts)

    def _Set(self, node: ast.Set) -> set[object]:
        return set(self._items(node.elts))

    def _Dict(self, node: ast.Dict) -> dict[object, object]:
        found: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found.update(self.eval(value))
            else:
                found[self.eval(key)] = self.eval(value)
        return found

    def _items(self, nodes: Iterable[ast.expr]) -> list[object]:
        found: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found.extend(self.iterable(node.value))
            else:
                found.append(self.eval(node))
        return found

    def _JoinedStr(self, node: ast.JoinedStr) -> str:
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                x = self.eval(part.value)
                if is_runtime(x):
                    self.refuse(part.value, "a text cannot show a value of the program", "leave the value out")
                spec = "" if part.format_spec is None else self.eval(part.format_spec)
                convert: Callable[[object], object] = _CONVERSIONS.get(part.conversion, lambda y: y)
                parts.append(format(convert(x), str(spec)))
            else:
                parts.append(str(self.eval(part)))
        return "".join(parts)

    def _NamedExpr(self, node: ast.NamedExpr) -> object:
        if self.conditions and self.conditions[-1].frames == len(self.frames):
            self.refuse(node, f"`:=` in {self.conditions[-1].place}", "write an assignment before")
        x = self.eval(node.value)
        self.bind(node.target.id, x, node.target)
        return self.eval(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))

    def bind(self, name: str, x: object, node: ast.AST) -> None:
        """Give a name a value."""
        variable = self.frame.names.get(name)
        if isinstance(variable, KernelArray) and not isinstance(x, KernelArray) and variable.is_result:
            fix = f"assign to an element, as in {name}[vy.index()] = x, or use another name"
            self.refuse(node, f"{name!r} is a result, and an assignment to the name stores nothing in it", fix)
        if isinstance(variable, Mutable):
            if not isinstance(x, (Value, NumberChoice)) and number(x) is None:
                what = f"{name!r} is a variable of {variable.dtype}"
                self.refuse(node, f"{what}, got {_kind(x)}", "use another name")
            variable.set(self.value(x, variable.dtype, node))
        elif isinstance(variable, Variables):
            structure, leaves = disassemble(x)
            if structure != variable.structure:
                self.refuse(node, f"{name!r} is a variable that is made of other parts", "use another name")
            pairs = list(zip(variable.parts, leaves, strict=True))
            for part, value in [(part, self.value(leaf, part.dtype, node)) for part, leaf in pairs]:
                part.set(value)
        else:
            self.frame.names[name] = x
            if name in self.frame.carried:
                self._carry(self.frame.carried[name], x)

    def _carry(self, carried: LoopName, x: object) -> None:
        """Note what a loop gives a name: the kernel is read again if the value before can have the type of that."""
        carried.is_changed = True
        (structure, before), (other, after) = disassemble(carried.before), disassemble(x)
        if structure != other:
            return
        dtypes = tuple(dtype for pair in zip(before, after, strict=True) if (dtype := common_type(*pair)) is not None)
        if len(dtypes) == len(before) > 0:
            raise VariableNeeded(carried.block, carried.name, structure, dtypes)

    # ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _BinOp(self, node: ast.BinOp) -> object:
        return self.binary(node.op, self.eval(node.left), self.eval(node.right), node)

    def binary(self, op: ast.operator, x: Any, y: Any, node: ast.AST) -> object:
        """Apply a binary operator."""
        compute = _BINARY[type(op)]
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
        if isinstance(op, (ast.Add, ast.Sub)) and _is_unsigned(x) and type(y) is int and y < 0:
            return (operator.sub if isinstance(op, ast.Add) else operator.add)(x, self.value(-y, x.dtype, node))
        if isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            x, y = _wrapped_mask(x, y), _wrapped_mask(y, x)
        left, right = self.unify((x, y), node)
        if left.dtype is not right.dtype:
            self._refuse_mixed(left, right, node)
        if isinstance(op, ast.Div) and not left.dtype.is_float:
            self._refuse_division(left.dtype, (x, y), node)
        return compute(left, right)

    def _refuse_mixed(self, left: Value, right: Value, node: ast.AST) -> NoReturn:
        """Refuse operands of two types, and name a conversion: to the float, or to the wider type."""
        narrow, wide = sorted((left, right), key=lambda x: (x.dtype.is_float, x.dtype.size, x.dtype.is_signed))
        written = ast.unparse(_operands(node)[0 if narrow is left else 1])
        fix = f"convert one of them, as in vy.{public_name(wide.dtype)}({written})"
        self.refuse(node, f"got operands of {left.dtype} and {right.dtype}, expected one type", fix)

    def _refuse_division(self, dtype: DType, given: Sequence[Any], node: ast.AST) -> NoReturn:
        """Refuse `/` of integers, and name the division that gives one, and that of floats."""
        left, right = operands = _operands(node)
        whole = f"vy.floor_div({ast.unparse(left)}, {ast.unparse(right)})"
        if not dtype.is_signed:
            whole = ast.unparse(ast.BinOp(left, ast.FloorDiv(), right))
        texts = map(ast.unparse, operands)
        floats = [f"vy.f32({text})" if is_runtime(x) else text for text, x in zip(texts, given, strict=True)]
        fix = f"write {whole} for a whole number, or convert to a type of floats, as in {' / '.join(floats)}"
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
        if isinstance(x, Value) and x.dtype.is_integer:
            if type(y) is not int or not 0 <= y <= MAX_POWER:
                fix = "write the product as a loop"
                self.refuse(node, f"the exponent of an integer is a number in 0 … {MAX_POWER}, known before", fix)
            result = constant(x.dtype, 1)
            for _ in range(y):
                result = x if isinstance(result.expr, Literal) else result * x
            return result
        left, right = self.unify((x, y), node)
        return vyre_math.pow(left, right)

    def _UnaryOp(self, node: ast.UnaryOp) -> object:
        if isinstance(node.op, ast.Not):
            return self.test(node)
        x = self.eval(node.operand)
        compute = _UNARY[type(node.op)]
        if isinstance(x, Vector):
            return Vector(compute(part) for part in x)
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
        got = f"a value of {x.dtype}" if isinstance(x, Value) else _kind(x)
        self.refuse(node, f"got {got} as an operand of `and` or `or`", "compare it, as in x != 0")

    def _logic(self, node: ast.BoolOp) -> bool | Value:
        """`and` and `or` of truths. What Python knows decides at once, as in Python."""
        is_and = isinstance(node.op, ast.And)
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

    def _Compare(self, node: ast.Compare) -> object:
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

    def _comparison(self, op: ast.cmpop, x: Any, y: Any, node: ast.AST) -> Any:
        compute = _COMPARE[type(op)]
        if isinstance(op, (ast.In, ast.NotIn)) and isinstance(x, (Value, NumberChoice)):
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
        return compute(left, right)

    def _refuse_vacuous(self, op: type[ast.cmpop], x: Any, y: Any, node: ast.AST) -> None:
        """Refuse to ask whether an unsigned value is negative: wrapped differences never are."""
        if isinstance(y, Value) and not isinstance(x, Value):
            x, y, op = y, x, _SWAPPED.get(op, op)
        if _is_unsigned(x) and type(y) is int and (y < 0 or (y == 0 and op in (ast.GtE, ast.Lt))):
            fix = "compare before the subtraction, as in x > 0, or convert the operands with .cast(vy.i32)"
            if y < 0:
                fix = f"write what it wraps to, {hex(y % 2**x.dtype.bits)}, or convert the operands with .cast(vy.i32)"
            self.refuse(node, f"a value of {x.dtype} is never negative, so the comparison with {y} is constant", fix)

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
                fix = "choose between values or numbers; write an `if` statement for other things"
                self.refuse(node, f"got {_kind(arm)}, which the program cannot choose", fix)
        return NumberChoice(condition, x, y)

    # ── elements and attributes ──────────────────────────────────────────────────────────────────────────────────────

    def _part_of(self, node: ast.expr) -> Any:
        """The value of an expression of which a part is used: of variables, only that is read."""
        if isinstance(node, ast.Name) and isinstance(variables := self.frame.names.get(node.id), Variables):
            return variables.thing()
        return self.eval(node)

    def place(self, node: ast.expr) -> ElementPart | None:
        """The part of an array of structures or vectors that an expression names; None for other expressions."""
        if isinstance(node, ast.Name):
            found = self.frame.names.get(node.id)
            if isinstance(found, KernelArray) and found.element is not None:
                return ElementPart(found, None, found.element, 0, node.id)
            return found if isinstance(found, ElementPart) else None
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return None
        whole = self.place(node.value)
        if whole is None:
            return None
        if isinstance(node, ast.Subscript) and whole.indices is None:
            indices = tuple(self.indices(whole.array, node))
            return replace(whole, indices=indices, name=f"{whole.name}[…]")
        if isinstance(whole.type, StructType) and isinstance(node, ast.Attribute) and node.attr in whole.type.fields:
            _, offset, *_ = whole.type.dtype.fields[node.attr]  # type: ignore[index]
            name = f"{whole.name}.{node.attr}"
            return replace(whole, type=whole.type.fields[node.attr], offset=whole.offset + offset, name=name)
        if isinstance(whole.type, VectorType):
            return self._component(whole, whole.type, node)
        return None

    def _component(
        self, whole: ElementPart, type_: VectorType, node: ast.Attribute | ast.Subscript
    ) -> ElementPart | None:
        """A component of a vector in an array, by its letter or its number."""
        letters = COMPONENTS[: type_.size]
        number_: Any = None
        if isinstance(node, ast.Subscript):
            number_ = self.eval(node.slice)
            if type(number_) is not int or not -type_.size <= number_ < type_.size:
                fix = f"write a number in 0 … {type_.size - 1}"
                self.refuse(node, "the component of a vector is a number that is known before", fix)
            number_ %= type_.size
        elif node.attr in letters and len(node.attr) == 1:
            number_ = letters.index(node.attr)
        if number_ is None:
            return None
        offset = whole.offset + number_ * type_.dtype.size
        return replace(whole, type=type_.dtype, offset=offset, name=f"{whole.name}.{letters[number_]}")

    def load_place(self, place: ElementPart, node: ast.AST) -> Any:
        """What a part of an element holds."""
        self._require_readable(place.array, node)
        if isinstance(place.type, StructType):
            fields = place.type.dtype.fields
            assert fields is not None
            parts = (
                replace(place, type=type_, offset=place.offset + fields[name][1])
                for name, type_ in place.type.fields.items()
            )
            return StructValue(place.type, tuple(self.load_place(part, node) for part in parts))
        if isinstance(place.type, VectorType):
            return Vector(self._load_number(part) for part in _components(place, place.type))
        return self._load_number(place)

    def _load_number(self, place: ElementPart) -> Value:
        dtype, unit, units = _units(place)
        loaded = [place.array.array[(*_indices(place), at)] for at in units]
        if dtype is unit:
            return loaded[0]
        if dtype is bool_:
            return loaded[0] != 0
        wide, value = dtype.unsigned, loaded[0].cast(dtype.unsigned)
        for number_, part in enumerate(loaded[1:], 1):
            value = value | (part.cast(wide) << (number_ * unit.bits))
        return value.bitcast(dtype)

    def store_place(self, place: ElementPart, x: Any, node: ast.AST) -> None:
        """Write a part of an element; nothing is done where an index is out of bounds."""
        self._require_writable(place.array, node)
        values = list(self._numbers(place, x, node))
        self._stored(place.array, _indices(place), node)
        for part, value in values:
            dtype, unit, units = _units(part)
            if dtype is not unit:
                value = value.cast(unit) if dtype is bool_ else value.bitcast(dtype.unsigned)
            for number_, at in enumerate(units):
                stored = value if len(units) == 1 else (value >> (number_ * unit.bits)).cast(unit)
                place.array.array[(*_indices(part), at)] = stored

    def _numbers(self, place: ElementPart, x: Any, node: ast.AST) -> Iterator[tuple[ElementPart, Value]]:
        """The numbers in a part of an element, and what they become."""
        if isinstance(place.type, StructType):
            if not isinstance(x, StructValue) or x.type is not place.type:
                name = place.type.__name__
                self.refuse(node, f"got {_kind(x)} for {place.name}, expected a {name}", f"pass {name}(…)")
            fields = place.type.dtype.fields
            assert fields is not None
            for (name, type_), value in zip(place.type.fields.items(), x.values, strict=True):
                part = replace(place, type=type_, offset=place.offset + fields[name][1], name=f"{place.name}.{name}")
                yield from self._numbers(part, value, node)
        elif isinstance(place.type, VectorType):
            vector = self.vector(x, place.type, node)
            yield from zip(_components(place, place.type), vector, strict=True)
        else:
            yield place, self.value(x, place.type, node)

    def vector(self, x: Any, type_: VectorType, node: ast.AST) -> Vector:
        """An operand as a vector of a type: numbers take the type of the components."""
        if not isinstance(x, tuple) or len(x) != type_.size:
            fix = f"pass vy.vec(…) of {type_.size} components"
            self.refuse(node, f"got {_kind(x)}, expected {type_.size} components of {type_.dtype}", fix)
        return Vector(self.value(part, type_.dtype, node) for part in x)

    def _Subscript(self, node: ast.Subscript) -> object:
        place = self.place(node)
        if place is not None:
            return self.load_place(place, node)
        container = self._part_of(node.value)
        if isinstance(container, KernelArray):
            return self.load(container, self.indices(container, node), node)
        index = self._slice(node.slice)
        if isinstance(container, Value):
            self.refuse(node, f"a value of {container.dtype} has no elements", "index an array")
        if not is_runtime(index):
            return self.current(container[index])
        if not isinstance(container, np.ndarray):
            fix = (
                "loop over a tuple, as in tuple(range(3)), or index an array: vy.private, or one of NumPy from outside"
            )
            self.refuse(node, f"got a value of the program as an index of {_kind(container)}", fix)
        table = self.table(container, node.value)
        return self.load(table, self.indices(table, node, index), node)

    def _slice(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return slice(*(None if part is None else self.eval(part) for part in (node.lower, node.upper, node.step)))
        return self.eval(node)

    def indices(self, array: KernelArray, node: ast.Subscript, given: Any = None) -> list[int | Value]:
        """The indices of an element, one for each axis."""
        if given is None:
            if isinstance(node.slice, ast.Slice):
                self.refuse(node, f"got a slice of {array.place!r}", "load and store one element at a time")
            given = self.eval(node.slice)
        parts = list(given) if isinstance(given, tuple) else [given]
        if len(parts) != len(array.axes):
            axes = "one axis" if len(array.axes) == 1 else f"{len(array.axes)} axes"
            fix = f"pass {'an index' if len(array.axes) == 1 else 'an index for each axis'}"
            self.refuse(node, f"got {len(parts)} indices of {array.place!r}, which has {axes}", fix)
        found: list[int | Value] = []
        for part in parts:
            if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
                if part < 0:
                    fix = "indices do not count from the end: use len(x) - 1"
                    self.refuse(node, f"the index {part} is out of bounds", fix)
                found.append(int(part))
            elif isinstance(part, NumberChoice):
                found.append(self.value(part, u32, node))
            elif isinstance(part, Value) and part.dtype.is_integer:
                found.append(part)
            else:
                what = f"a value of {part.dtype}" if isinstance(part, Value) else _kind(part)
                fix = "pass an integer; a value becomes one with .cast(vy.u32)"
                self.refuse(node, f"got {what} as an index of {array.place!r}, expected an integer", fix)
        if array.array.decl.memory is Memory.STORAGE and self._is_own_place(found):
            self.own_uses.append((array, node))
        return found

    def _require_readable(self, array: KernelArray, node: ast.AST) -> None:
        if not array.array.decl.access.reads:
            fix = f"annotate {array.place!r} with vy.InOut"
            self.refuse(node, f"{array.place!r} is a result, which cannot be read", fix)

    def _require_writable(self, array: KernelArray, node: ast.AST) -> None:
        if not array.array.decl.access.writes:
            fix = f"annotate {array.place!r} with vy.Out or vy.InOut"
            self.refuse(node, f"{array.place!r} is an input, which cannot be written", fix)

    def load(self, array: KernelArray, indices: Sequence[int | Value], node: ast.AST) -> Value:
        """The element at indices; 0 where any of them is out of bounds."""
        self._require_readable(array, node)
        return array.array[tuple(indices)]

    def store(self, array: KernelArray, indices: Sequence[int | Value], x: Any, node: ast.AST) -> None:
        """Write an element; nothing is done where an index is out of bounds."""
        self._require_writable(array, node)
        stored = self.value(x, array.array.dtype, node)
        self._stored(array, indices, node)
        array.array[tuple(indices)] = stored

    def _is_own_element(self, array: KernelArray, indices: Sequence[int | Value]) -> bool:
        """Whether the element has the indices of the invocation, so that none is written beyond the shape."""
        is_own = self._is_own_place(indices)
        return is_own and all(_is_same(a, b) for a, b in zip(array.axes, self.shape, strict=True))

    def _is_own_place(self, indices: Sequence[int | Value]) -> bool:
        """Whether indices are those of the invocation in the shape of the launch."""
        rank = len(self.shape)
        return len(indices) == rank and all(
            isinstance(x, Value) and x.expr is Id(IdKind.GLOBAL_ID, rank - 1 - axis) for axis, x in enumerate(indices)
        )

    def table(self, values: np.ndarray[Any, Any], node: ast.AST) -> KernelArray:
        """A NumPy array from outside of the kernel as a table of the program."""
        if id(values) not in self.tables:
            stem = node.id if isinstance(node, ast.Name) else "table"
            with self.at(node):
                array = self.builder.constant(self.buffer_name(stem), values.dtype, values)
            self.tables[id(values)] = KernelArray(array, stem), values
        return self.tables[id(values)][0]

    def buffer_name(self, stem: str) -> str:
        """A name for a buffer that no other has."""
        name, count = stem, 1
        while name in self.buffer_names:
            count += 1
            name = f"{stem}.{count}"
        self.buffer_names.add(name)
        return name

    def _Attribute(self, node: ast.Attribute) -> object:
        place = self.place(node)
        if place is not None:
            return place if place.indices is None else self.load_place(place, node)
        x = self._part_of(node.value)
        name = node.attr
        if isinstance(x, ElementPart):
            return self._of_part(x, name, node)
        if isinstance(x, StructValue):
            if name in x.type.methods:
                return functools.partial(x.type.methods[name], self.current(x))
            if name not in x.type.fields:
                fix = f"use one of {', '.join((*x.type.fields, *x.type.methods))}"
                self.refuse(node, f"{x.type.__name__!r} has no field {name!r}", fix)
            return self.current(x.field(name))
        if isinstance(x, Vector):
            if name not in COMPONENTS[: len(x)]:
                fix = f"use {', '.join(COMPONENTS[: len(x)])}, or an index"
                self.refuse(node, f"a vector of {len(x)} components has no {name!r}", fix)
            return self.current(x[COMPONENTS.index(name)])
        if isinstance(x, KernelArray):
            if name == "shape":
                return x.axes
            if name == "ndim":
                return len(x.axes)
            if name in ("length", "size"):
                return x.size
            if name == "dtype":
                return x.dtype
            if name.startswith("atomic_") and hasattr(x.array, name):
                if x.element is not None:
                    fix = f"name a number of it, as in {x.place}.field.{name}(…)"
                    self.refuse(node, f"an element of {x.place!r} is no number, so it has no atomics", fix)
                return ArrayAtomic(x, name)
            self.refuse(node, f"an array has no attribute {name!r}", "use shape, ndim, size, dtype or an atomic")
        if isinstance(x, Value) and name not in ("dtype", "cast", "bitcast"):
            self.refuse(node, f"a value has no attribute {name!r}", "use dtype, cast or bitcast")
        if isinstance(x, NumberChoice):
            self.refuse(node, "a number has no type here", "give it one, as in vy.u32(1)")
        return getattr(x, name)

    def _of_part(self, part: ElementPart, name: str, node: ast.Attribute) -> object:
        """An attribute of a part of all elements, as ``particles.mass``."""
        if name == "dtype":
            return part.type
        if name in ("shape", "ndim", "size", "length"):
            axes = part.array.axes
            return {"shape": axes, "ndim": len(axes)}.get(name, part.array.size)
        if name.startswith("atomic_") and hasattr(part.array.array, name):
            if not isinstance(part.type, DType) or _units(part)[0] is not _units(part)[1]:
                fix = "give all fields one type, or keep this one in an array of its own"
                self.refuse(node, f"{part.name!r} shares its memory with other numbers, so it has no atomics", fix)
            return ArrayAtomic(part.array, name, tuple(_units(part)[2]))
        self.refuse(node, f"{part.name!r} has no attribute {name!r}", f"index it first, as in {part.name}[i].{name}")

    # ── comprehensions ───────────────────────────────────────────────────────────────────────────────────────────────

    def iterable(self, node: ast.expr) -> Iterable[Any]:
        """What an expression gives to a loop that runs while the kernel is compiled."""
        x = self.eval(node)
        self.require_iterable(x, node)
        with self.at(node):
            elements: Iterable[Any] = iter(x)
        return elements

    def require_iterable(self, x: object, node: ast.AST) -> None:
        """Refuse to go through the elements of what has them only when the program runs."""
        if isinstance(x, (Value, NumberChoice, KernelArray, ElementPart)):
            fix = "count with `for k in range(…)` and index the array"
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in _OF_ARRAYS:
                fix += f"; outside of a kernel, vy.{name} computes with whole arrays"
            self.refuse(node, "the elements are not known while the kernel is compiled", fix)

    def _ListComp(self, node: ast.ListComp) -> list[object]:
        return self._comprehension(node.generators, lambda: self.eval(node.elt))

    def _GeneratorExp(self, node: ast.GeneratorExp) -> list[object]:
        place = "a generator expression, of which Python computes what is taken,"
        with self.under_condition(place, f"write a list, [{ast.unparse(node)[1:-1]}]"):
            return self._comprehension(node.generators, lambda: self.eval(node.elt))

    def _SetComp(self, node: ast.SetComp) -> set[object]:
        return set(self._comprehension(node.generators, lambda: self.eval(node.elt)))

    def _DictComp(self, node: ast.DictComp) -> dict[object, object]:
        pairs = self._comprehension(node.generators, lambda: (self.eval(node.key), self.eval(node.value)))
        return dict(pairs)  # type: ignore[arg-type]

    def _comprehension(self, generators: Sequence[ast.comprehension], result: Callable[[], object]) -> list[object]:
        targets = assigned_names([generator.target for generator in generators])
        names = self.frame.names
        before = {name: names[name] for name in targets if name in names}
        carried = self.frame.carried
        self.frame.carried = {name: x for name, x in carried.items() if name not in targets}
        found: list[object] = []

        def run(level: int) -> None:
            if level == len(generators):
                found.append(result())
                return
            generator = generators[level]
            for x in self.iterable(generator.iter):
                for name in assigned_names([generator.target]):
                    names.pop(name, None)
                self.assign(generator.target, x)
                if all(self._static_test(test) for test in generator.ifs):
                    run(level + 1)

        run(0)
        self.frame.carried = carried
        for name in targets:
            names.pop(name, None)
        names.update(before)
        return found

    def _static_test(self, node: ast.expr) -> bool:
        found = self.test(node)
        if isinstance(found, Value):
            fix = "choose the value instead, as in (x if condition else 0)"
            self.refuse(node, "the condition of a comprehension is known only when the program runs", fix)
        return found

    @abstractmethod
    def assign(self, target: ast.expr, x: Any) -> None:
        """Assign to a name, to several, or to an element."""

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _Call(self, node: ast.Call) -> object:
        callee = self.eval(node.func)
        if callee is intrinsics.bounded:
            self.refuse(node, "bounded(…) is the condition of a `while` loop", "write `while vy.bounded(…, limit):`")
        if (
            node.args
            and isinstance(generator := node.args[0], ast.GeneratorExp)
            and any(callee is f for f in _TAKE_ALL)
        ):
            elements = ast.copy_location(ast.ListComp(generator.elt, generator.generators), generator)
            node = ast.copy_location(ast.Call(node.func, [elements, *node.args[1:]], node.keywords), node)
        return self.call(callee, node)

    @abstractmethod
    def call(self, callee: Any, node: ast.Call) -> object:
        """Call a function with the arguments of a node."""

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call by position and by name."""
        named: dict[str, Any] = {}
        positional = self._items(node.args)
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.eval(keyword.value))
            else:
                named[keyword.arg] = self.eval(keyword.value)
        return positional, named


class ArrayAtomic:
    """The method of an array that applies an atomic, bound to the array."""

    def __init__(self, array: KernelArray, name: str, last: tuple[int, ...] = ()) -> None:
        self.array, self.name = array, name
        self.last = last
        """The index on the last axis, of a number in an array of structures."""


def _units(place: ElementPart) -> tuple[DType, DType, range]:
    """The type of a number in an element, that of the units, and which units it is."""
    assert isinstance(place.type, DType)
    unit = place.array.array.dtype
    first = place.offset // unit.size
    return place.type, unit, range(first, first + max(1, place.type.size // unit.size))


def _indices(place: ElementPart) -> tuple[int | Value, ...]:
    assert place.indices is not None
    return place.indices


def _components(place: ElementPart, type_: VectorType) -> Iterator[ElementPart]:
    """The components of a vector in an element."""
    for number_ in range(type_.size):
        yield replace(place, type=type_.dtype, offset=place.offset + number_ * type_.dtype.size)


def _is_same(a: int | Value, b: int | Value) -> bool:
    """Whether two lengths are known to be the same."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a.expr is b.expr


def _wrapped_mask(x: Any, beside: Any) -> Any:
    """A negative number beside an unsigned value as the bits that it has, as in ``x & ~15``."""
    if _is_unsigned(beside) and type(x) is int and -(1 << (beside.dtype.bits - 1)) <= x < 0:
        return x % (1 << beside.dtype.bits)
    return x


def _is_difference(x: object) -> TypeGuard[Value]:
    """Whether a value is an unsigned difference, which wraps where it would be negative."""
    return _is_unsigned(x) and isinstance(x.expr, Apply) and x.expr.op.id == "sub"


def _is_unsigned(x: object) -> TypeGuard[Value]:
    return isinstance(x, Value) and x.dtype.is_integer and not x.dtype.is_signed


def _kind(x: object) -> str:
    """What a message says of an object."""
    if isinstance(x, (Value, NumberChoice)):
        return "a value of the program"
    if isinstance(x, KernelArray):
        return f"the array {x.place!r}"
    if isinstance(x, StructValue):
        return f"a {x.type.__name__}"
    if isinstance(x, ElementPart):
        return f"{x.name!r} of all elements"
    return "a vector" if isinstance(x, Vector) else "a tuple" if isinstance(x, tuple) else shown(x)


def _operands(node: ast.AST) -> tuple[ast.expr, ast.expr]:
    """The operands of a binary operator, or of an assignment with one; of what has none, `…`."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    return (node.target, node.value) if isinstance(node, ast.AugAssign) else (ast.Name("…"), ast.Name("…"))


def _described(node: ast.AST) -> str:
    """What a message says of a construct."""
    names = {"Lambda": "a lambda", "Await": "`await`", "Yield": "`yield`", "YieldFrom": "`yield from`"}
    return names.get(type(node).__name__, type(node).__name__)
