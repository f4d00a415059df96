"""Specialization: a parameter of a program becomes a constant of its code.

    uniform n: u32[1] @1;  …  x[i] * n[0]      with n = 3      →      x[i] * 3

A parameter is a uniform buffer of one element. The specialized program does not have this input, and has another
fingerprint. Its results are those of the original program with the value in that input.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from blake3 import blake3

from vyre_driver.device.profile import Extent
from vyre_driver.errors import InvalidInput
from vyre_driver.plan.binding import BindingPlan, BindingSetFingerprint
from vyre_driver.plan.shapes import program_vsa_fingerprint_words
from vyre_foundation.dtype import DType, u32
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Buffer, LengthOf, Memory
from vyre_foundation.ir.expr import Apply, Expr, Length, Literal, Load, Select, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, IndirectDispatch, Stmt, Store
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.locks import ForkGuard
from vyre_foundation.ops import OPS

CACHED = 256
"""Specialized programs that are kept: who asks for one again gets the same object, and with it what was prepared."""


@dataclass(frozen=True, slots=True)
class SpecValue:
    """A value of a type. Floats are rounded to the type."""

    dtype: DType
    bits: int

    @classmethod
    def of(cls, dtype: DType, value: bool | int | float) -> SpecValue:
        """Return `value` in a type, or raise `LiteralOutOfRange` for an integer that the type cannot hold."""
        return cls(dtype, literal(dtype, value).bits)

    @property
    def literal(self) -> Literal:
        """Return the literal expression of the value."""
        return Literal(self.dtype, self.bits)

    def __str__(self) -> str:
        return f"{self.literal.value}:{self.dtype}"


class SpecMap(Mapping[str, SpecValue]):
    """Values by the names of parameters, in alphabetical order."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, SpecValue]) -> None:
        self._values = dict(sorted(values.items()))

    @classmethod
    def of(cls, program: Program, values: Mapping[str, bool | int | float]) -> SpecMap:
        """Return the values in the types that `program` declares, or raise `InvalidInput` for an unknown parameter."""
        found = {}
        for name, value in values.items():
            parameter = _parameter(program, name)
            try:
                found[name] = SpecValue.of(parameter.dtype, value)
            except VyreError as error:
                needed = f"a value of {parameter.dtype}"
                raise InvalidInput(name, needed=needed, got=repr(value), fix=error.fix) from error
        return cls(found)

    def __getitem__(self, name: str) -> SpecValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"SpecMap({', '.join(f'{name}={value}' for name, value in self._values.items())})"

    def digest(self) -> str:
        """Return a text that is equal for equal maps, in every process."""
        hasher = blake3(b"vyre specialization")
        for name, value in self._values.items():
            for part in (name, value.dtype.name, hex(value.bits)):
                data = part.encode()
                hasher.update(len(data).to_bytes(8, "little"))
                hasher.update(data)
        return str(hasher.hexdigest())


NO_VALUES = SpecMap({})
"""Nothing is baked in."""


@dataclass(frozen=True, slots=True)
class SpecCacheKey:
    """The key of a specialized program: the original program, its bindings, its workgroup size, and the values."""

    program: tuple[int, ...]
    name: str
    bindings: BindingSetFingerprint
    workgroup_size: Extent
    values: str

    @classmethod
    def of(cls, program: Program, values: SpecMap) -> SpecCacheKey:
        """Return the key of the original `program` with `values`, which does not depend on the lengths of inputs."""
        words, layout = program_vsa_fingerprint_words(program), BindingPlan.of(program).fingerprint()
        return cls(words, program.name, layout, program.workgroup_size, values.digest())


_cache: OrderedDict[SpecCacheKey, Program] = OrderedDict()
_guard = ForkGuard()


def specialize(program: Program, values: SpecMap) -> Program:
    """Return `program` with these parameters as constants; itself if there are none.

    Raises:
        InvalidInput: A name is not a parameter, or a value has another type than the declaration.
    """
    if not values:
        return program
    key = SpecCacheKey.of(program, values)
    with _guard.lock:
        found = _cache.get(key)
        if found is None:
            found = _cache[key] = _specialized(program, values)
        _cache.move_to_end(key)
        while len(_cache) > CACHED:
            _cache.popitem(last=False)
    return found


def _specialized(program: Program, values: SpecMap) -> Program:
    for name, value in values.items():
        declared = _parameter(program, name).dtype
        if value.dtype is not declared:
            raise InvalidInput(name, needed=f"a value of {declared}", got=f"a value of {value.dtype}")
    buffers = dict(_remaining(program, values))
    memo: dict[Expr, Expr] = {}

    def constant(node: Expr) -> Expr:
        match node:
            case Load(buffer, index) if buffer in buffers:
                return Load(buffers[buffer], index)
            case Load(buffer, index):
                value = values[buffer.name].literal
                zero = literal(index.dtype, 0)
                is_there = Apply(OPS["eq"], index, zero)
                return value if index is zero else Select(is_there, value, literal(value.dtype, 0))
            case Length(buffer):
                return Length(buffers[buffer]) if buffer in buffers else literal(u32, 1)
        return node

    def bound(stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, lambda root: rewrite(root, constant, memo))
        match stmt:
            case Store() | Atomic() | IndirectDispatch():
                return replace(stmt, buffer=buffers[stmt.buffer])
        return stmt

    return replace(program, buffers=tuple(buffers.values()), body=rewrite_body(program.body, bound))


def _remaining(program: Program, values: SpecMap) -> Iterator[tuple[Buffer, Buffer]]:
    """The buffers that stay, each with its declaration from now on."""
    binding = 0
    for buffer in program.buffers:
        if buffer.name in values:
            continue
        count = buffer.count
        if isinstance(count, LengthOf) and count.buffer in values:
            count = count.resolve(1)
        yield buffer, buffer.replace(count=count, binding=None if buffer.binding is None else binding)
        binding += buffer.binding is not None


def _parameter(program: Program, name: str) -> Buffer:
    """The declaration of a parameter, or `InvalidInput`."""
    parameters = {b.name: b for b in program.buffers if b.memory is Memory.UNIFORM and b.count == 1}
    if name not in parameters:
        known = f"a uniform buffer of one element ({', '.join(parameters) or 'the program has none'})"
        fix = "declare it so, or pass it as an input"
        raise InvalidInput(name, needed=known, got="no such declaration", fix=fix)
    return parameters[name]
