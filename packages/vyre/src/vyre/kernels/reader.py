"""How the expressions of a kernel are read: names, literals, values, and what is refused."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

import vyre_foundation.functions as ops
import vyre_math
from vyre.kernels.aggregates import (
    Structure,
    StructValue,
    Variables,
    Vector,
    assemble,
    disassemble,
    front_door,
    map_leaves,
)
from vyre.kernels.device import DeviceFunction, HostCallable
from vyre.kernels.frame import Frame, Hints
from vyre.kernels.source import FunctionSource
from vyre.kernels.values import (
    ElementPart,
    KernelArray,
    LoopName,
    Merged,
    Number,
    NumberChoice,
    Unbound,
    common_type,
    has_type_or_number,
    is_runtime,
    public_name,
    typed_text,
)
from vyre_algorithms.numpy_names import FUNCTIONS
from vyre_foundation.build import Mutable, ProgramBuilder, Value, constant
from vyre_foundation.build.arguments import code_of, number, shown
from vyre_foundation.build.values import conversion_fix
from vyre_foundation.dtype import DType, bool_, i32, u32
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.origin import Line

_CONVERSIONS: Mapping[int, Callable[[object], object]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
OF_ARRAYS = ("sum", "min", "max", "any", "all")
"""What Python calls a function of `vyre` that computes with arrays, on the host."""


MAX_ITERATIONS = 4096
"""Iterations to which the loops of a kernel are unrolled: compilers need minutes for more."""
MAX_ELEMENTS = 65536
"""Elements that the comprehensions of a kernel compute."""


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


class ResultRead(Exception):
    """A result is read, so the kernel is read again, with one that may be."""

    def __init__(self, name: str) -> None:
        self.name = name


class NodeReader:
    """Reads expressions, one method for each kind of node. Operators and elements are in classes of their own."""

    def __init__(self, builder: ProgramBuilder, frame: Frame, shape: tuple[int | Value, ...], known: Hints) -> None:
        self.builder, self.shape, self.known = builder, shape, known
        own = builder.index() if shape else ()
        self.own_index: tuple[Value, ...] = own if isinstance(own, tuple) else (own,)
        """The indices of the invocation in the shape of the launch."""
        self.from_zero = {index.expr for index in self.own_index}
        """Indices and counters of loops that begin at 0."""
        self.tested: set[Expr] = set()
        """Values that were compared with a number, so that the kernel may know where they are 0."""
        self.frames = [frame]
        self.found = Hints({}, is_guarded=known.is_guarded)
        """What this reading found out, for the next one."""
        self.depth = 0
        """How many branches and loops of the program are open."""
        self.conditions: list[Condition] = []
        """What is open that Python would evaluate only under a condition, outermost first."""
        self.has_effects = self.has_barrier = False
        self.iterations = self.elements = 0
        """How many iterations of loops were unrolled, and how many elements of comprehensions were computed."""
        self.actions = 0
        """How many stores, atomics, barriers and traps were read."""
        self.tables: dict[int, tuple[KernelArray, object]] = {}
        self.buffer_names: set[str] = set()
        self.own_uses: list[tuple[KernelArray, ast.AST]] = []
        """The parameters that are indexed by the place of the invocation, each with where it is."""
        self.stores: dict[tuple[str, Line], tuple[FunctionSource, ast.AST]] = {}
        """Where the last store to a buffer is that a line wrote."""
        self.assigned = ""
        """The name to which the value of the expression will be assigned."""

    @property
    def frame(self) -> Frame:
        """The function that is being read."""
        return self.frames[-1]

    def refuse(self, node: ast.AST, message: str, fix: str) -> NoReturn:
        """Raise the error for a node."""
        raise self.frame.source.error(node, message, fix)

    def element_of(self, x: KernelArray | ElementPart) -> str:
        """How a message writes an element of an array: by the names that the indices of the invocation have."""
        array, name = (x, x.place) if isinstance(x, KernelArray) else (x.array, x.name)
        named = {value.expr: n for n, value in self.frame.names.items() if isinstance(value, Value)}
        names = [named.get(index.expr) for index in self.own_index]
        if len(array.axes) != len(names):
            return f"{name}[{', '.join('ijklmn'[: len(array.axes)])}]"
        return f"{name}[vy.index()]" if None in names else f"{name}[{', '.join(map(str, names))}]"

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Let errors of the builder, and of Python, point at a node."""
        try:
            yield
        except VyreError as error:
            if error.fields.get("line") is not None:
                raise
            raise self.frame.source.error(node, error.message, front_door(error.fix)) from error
        except (IterationLeft, VariableNeeded, ResultRead, RecursionError):
            raise
        except Exception as error:
            message = f"{type(error).__name__} while the kernel is compiled: {error}"
            known = FUNCTIONS.get(getattr(error, "name", None) or "")
            message, _, remedy = message.partition(". Fix: ")
            fix = f"write vy.{known}" if known else remedy.replace("vyre.", "vy.") or "correct the expression"
            if isinstance(error, AttributeError) and hasattr(builtins, str(error.name)) and "module 'vyre'" in message:
                fix = f"write {error.name}, which is Python's"
            raise self.frame.source.error(node, message, fix) from error

    # ── entry points ─────────────────────────────────────────────────────────────────────────────────────────────────

    def eval(self, node: ast.expr) -> Any:
        """The value of an expression: an object of Python, or what the program knows only when it runs."""
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            fix = "write it without"
            if isinstance(node, ast.Lambda):
                fix = "make it a function with `def` outside of the kernel, and decorate that with @vy.func"
            self.refuse(node, f"got {_described(node)}, which a kernel cannot have", fix)
        with self.at(node):
            return method(node)

    def truth(self, x: Any, node: ast.AST) -> bool | Value:
        """Whether a value is not 0, as a bool or a value of bool."""
        if isinstance(x, Value):
            self.tested.add(x.expr)
            return x if x.dtype is bool_ else x != 0
        if isinstance(x, NumberChoice):
            return x.truth()
        if isinstance(x, KernelArray):
            self.refuse(node, f"the truth of the array {x.place!r} is not one value", "test an element, as in x[i] > 0")
        if isinstance(x, (Vector, StructValue, ElementPart)):
            self.refuse(node, f"the truth of {kind_of(x)} is not one value", "test a part of it, or write a comparison")
        if inspect.isroutine(x) or isinstance(x, (DeviceFunction, HostCallable)):
            fix = f"call it, as in {_written(node)}(…), or test whether it is None"
            self.refuse(node, "a function is tested, which is always true", fix)
        with self.at(node):
            return bool(x)

    def value(self, x: Any, dtype: DType | None, node: ast.AST) -> Value:
        """An operand as a value of a type; of any type where `dtype` is None."""
        if isinstance(x, Value):
            if dtype is not None and x.dtype is not dtype:
                fix = "compare it, as in x != 0" if dtype is bool_ else conversion_fix(x.expr, dtype, f"vy.{dtype}")
                self.refuse(node, f"got a value of {x.dtype}, expected {dtype}", fix)
            return x
        if isinstance(x, KernelArray):
            self.refuse(node, f"got the array {x.place!r}, expected a value", f"index it, as in {self.element_of(x)}")
        if isinstance(x, ElementPart):
            self.refuse(node, f"got {kind_of(x)}, expected a value", f"index it, as in {self.element_of(x)}")
        literal = number(x)
        if literal is None and not isinstance(x, NumberChoice):
            self.refuse(node, f"got {kind_of(x)}, expected a value or a number", _part_of(x))
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
            return constant(dtype, x)

    # ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────

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
        self.refuse_under_condition(node, what)
        self.has_effects = True
        self.actions += 1

    def refuse_under_condition(self, node: ast.AST, what: str) -> None:
        """Refuse what acts in an expression that Python would evaluate only under a condition."""
        if self.conditions:
            condition = self.conditions[-1]
            self.refuse(node, f"{what} in {condition.place} always takes effect", condition.fix)

    @property
    def is_conditional(self) -> bool:
        """Whether the function that is being read may not come here, or come here several times."""
        is_operand = bool(self.conditions) and self.conditions[-1].frames == len(self.frames)
        return is_operand or self.depth > self.frame.depth

    def is_outer(self, x: object) -> bool:
        """Whether a name from outside of the functions that are read stands for an object."""
        return any(y is x for frame in self.frames for y in frame.outer.values())

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
        fix = "define it before the kernel is first called"
        others = import_module("vyre.kernel_names").KERNELS  # which no launch needs
        if name in others:
            fix = f"{front_door(others[name]).removesuffix(' in a kernel')}; or {fix}"
        elif same := FUNCTIONS.get(name, name if hasattr(ops, name) or hasattr(vyre_math, name) else None):
            fix = f"write vy.{same}; or {fix}"
        self.refuse(node, f"the name {name!r} is not defined", fix)

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
        merged = list(found.all())
        taken = [disassemble(x) for each in merged for x in each.values if not isinstance(x, Merged)]
        structure = taken[0][0]
        line = self.frame.source.line_of(found.node)
        if any(other != structure for other, _ in taken):
            message = f"the branches of the `if` at line {line} give {name} values that are made of different parts"
            self.refuse(node, message, "give it values of one kind")
        dtypes = tuple(
            self._common_dtype(leaves, name, line, found.node, node)
            for leaves in zip(*(leaves for _, leaves in taken), strict=True)
        )
        for each in merged:
            self.found.merged[each.block, each.name] = structure, dtypes
        return assemble(structure, iter([constant(dtype, 0) for dtype in dtypes]))

    def _common_dtype(self, values: Sequence[Any], name: str, line: int, branches: ast.AST, node: ast.AST) -> DType:
        """The type of what the branches of an ``if`` give a name."""
        dtypes = {x.dtype for x in values if isinstance(x, (Value, Mutable))}
        if len(dtypes) > 1:
            got = " and ".join(sorted(dtype.name for dtype in dtypes))
            self.refuse(
                branches, f"{name} has the types {got} in the branches of this `if`", "convert them to one type"
            )
        if not all(isinstance(x, (Value, Mutable, NumberChoice)) or number(x) is not None for x in values):
            message = f"the branches of the `if` at line {line} give {name} values that are not numbers"
            self.refuse(node, message, "give it numbers and values of the program")
        plain = [number(x) for x in values if not isinstance(x, NumberChoice)]
        if not dtypes and plain and all(isinstance(x, bool) for x in plain):
            dtypes = {bool_}
        if not dtypes:
            message = f"the branches of the `if` at line {line} give {name} values that have no type"
            numbers = sorted((x for x in plain if x is not None), key=lambda x: not isinstance(x, float))
            typed = typed_text(numbers[0]) if numbers else "vy.i32(1)"
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

    def iterable(self, node: ast.expr) -> Iterable[Any]:
        """What an expression gives to a loop that runs while the kernel is compiled."""
        x = self.eval(node)
        self.require_iterable(x, node)
        with self.at(node):
            elements: Iterable[Any] = iter(x)
        return elements

    def unrolled(self, node: ast.AST) -> None:
        """Count an iteration that is written into the program."""
        self.iterations += 1
        if self.iterations > MAX_ITERATIONS:
            fix = (
                "count with `for k in range(n)`, a loop of the program, and index a NumPy array by k for known numbers"
            )
            message = f"loops and comprehensions are unrolled to more than {MAX_ITERATIONS} iterations in this kernel"
            self.refuse(node, message, fix)

    def computed(self, node: ast.AST) -> None:
        """Count an element that a comprehension computes while the kernel is compiled."""
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            message = f"comprehensions compute more than {MAX_ELEMENTS} elements while this kernel is compiled"
            self.refuse(node, message, "compute them outside of the kernel, in a NumPy array, and use that")

    def require_iterable(self, x: object, node: ast.AST) -> None:
        """Refuse to go through the elements of what has them only when the program runs."""
        if isinstance(x, (Value, NumberChoice, KernelArray, ElementPart)):
            fix = "count with `for k in range(…)` and index the array"
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in OF_ARRAYS:
                fix += f"; outside of a kernel, vy.{name} computes with whole arrays"
            self.refuse(node, "the elements are not known while the kernel is compiled", fix)

    def _JoinedStr(self, node: ast.JoinedStr) -> str:
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                x = self.eval(part.value)
                if is_runtime(x):
                    fix = 'leave it out; to look at it, add a result, as in seen: vy.Out[vy.f32, "n"]: seen[i] = value'
                    self.refuse(part.value, "a text cannot show a value of the program", fix)
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
                self.refuse(node, f"{what}, got {kind_of(x)}", "use another name")
            variable.set(self.value(x, variable.dtype, node))
        elif isinstance(variable, Variables):
            structure, leaves = disassemble(x)
            if structure != variable.structure:
                self.refuse(node, f"{name!r} is a variable with other parts", "use another name")
            pairs = list(zip(variable.parts, leaves, strict=True))
            for part, value in [(part, self.value(leaf, part.dtype, node)) for part, leaf in pairs]:
                part.set(value)
        else:
            self.frame.names[name] = x
            if name in self.frame.carried:
                self._carry(self.frame.carried[name], x)

    def _require_wide(self, carried: LoopName, start: Number, dtype: DType) -> None:
        """Refuse multiples of a number without a type in a narrow one: digits that are put together wrap."""
        if carried.scaled is not None and dtype.is_integer and dtype.bits < 32:
            wide = i32 if dtype.is_signed else u32
            message = (
                f"{carried.name!r} begins with a number without a type, and takes {dtype} from what the loop gives it:"
                f" its multiples wrap above {dtype.highest}"
            )
            typed = typed_text(start, wide)
            fix = f"give it a type before the loop, as in {carried.name} = {typed}, or vy.{dtype} where it is to wrap"
            self.refuse(carried.scaled, message, fix)

    def _carry(self, carried: LoopName, x: object) -> None:
        """Note what a loop gives a name: the kernel is read again if the value before can have the type of that."""
        carried.is_changed = True
        (structure, before), (other, after) = disassemble(carried.before), disassemble(x)
        if structure != other:
            return
        common = [common_type(*pair) for pair in zip(before, after, strict=True)]
        if isinstance(x, Vector):  # numbers of a vector have the type of the other components
            known = next(filter(None, common), None)
            common = [dtype or known for dtype in common]
        dtypes = tuple(filter(None, common))
        if len(dtypes) == len(before) > 0:
            if len(dtypes) == 1 and number(before[0]) is not None:
                self._require_wide(carried, number(before[0]) or 0, dtypes[0])
            raise VariableNeeded(carried.block, carried.name, structure, dtypes)


def _written(node: ast.AST) -> str:
    """How messages write an expression; a statement has none."""
    return ast.unparse(node) if isinstance(node, ast.expr) else "f"


def _part_of(x: object) -> str:
    """What to write in the place of what is no number: a part of it."""
    if isinstance(x, (str, bytes)):
        return code_of(x)
    if isinstance(x, Vector):
        return "compute with its components, as in v.x"
    if isinstance(x, StructValue):
        return f"compute with its fields, as in s.{next(iter(x.type.fields))}"
    if isinstance(x, (tuple, list)):
        return "compute with its elements, which get names by y, x = …"
    if inspect.isroutine(x) or isinstance(x, DeviceFunction):
        return "call the function"
    if isinstance(x, Enum):
        return f"write .value behind it, as in {type(x).__name__}.{x.name}.value"
    if isinstance(x, np.ndarray):
        return "index it, as in table[i]"
    if isinstance(x, DType):
        return f"give it a number, as in vy.{public_name(x)}(1)"
    if x is None:
        return "write a value; barriers, stores and traps give none"
    return "pass a value or a number"


def kind_of(x: object) -> str:
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


def _described(node: ast.AST) -> str:
    """What a message says of a construct."""
    names = {
        "Lambda": "a lambda", "Await": "`await`", "Yield": "`yield`", "YieldFrom": "`yield from`",
        "TemplateStr": "a template string",
    }  # fmt: skip
    return names.get(type(node).__name__, type(node).__name__)
