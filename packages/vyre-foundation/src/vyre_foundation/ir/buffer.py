"""Buffer declarations: who may touch the memory, where it lives, how long it lives, how many elements it has."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from enum import Enum
from typing import Any

from vyre_foundation.dtype import DType
from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir.argument import expected, remedy, shown
from vyre_foundation.ir.integer import integer
from vyre_foundation.locks import ForkGuard


class Access(Enum):
    """What the invocations of a program may do with a buffer."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"

    reads: bool
    writes: bool

    def __init__(self, word: str) -> None:
        self.reads, self.writes = word != "write", word != "read"


class Memory(Enum):
    """Where a buffer lives and for how long. Memory that the host does not fill is zero at the start of its life."""

    STORAGE = "storage"
    """The host's: an input, an output, or both, by its access."""
    UNIFORM = "uniform"
    """A small input that is the same for all invocations."""
    CONSTANT = "constant"
    """Data embedded in the program: tables, automata."""
    PERSISTENT = "persistent"
    """Kept on the device by a compiled pipeline from one dispatch to the next."""
    SCRATCH = "scratch"
    """One per dispatch, shared by the grid, never seen by the host."""
    WORKGROUP = "workgroup"
    """One per workgroup."""
    PRIVATE = "private"
    """One per invocation."""

    @property
    def is_bound(self) -> bool:
        """Whether buffers of this memory have a binding number and are passed to a kernel."""
        return self in (Memory.STORAGE, Memory.UNIFORM, Memory.PERSISTENT, Memory.SCRATCH)

    @property
    def is_host_visible(self) -> bool:
        """Whether the host gives or takes the contents."""
        return self in (Memory.STORAGE, Memory.UNIFORM)


class Runtime(Enum):
    """The element count is the length of the input that is bound at launch."""

    COUNT = "runtime"


RUNTIME = Runtime.COUNT


@dataclass(frozen=True, slots=True)
class LengthOf:
    """The element count follows from another buffer: ``ceil(len(buffer) * times / over) + plus``.

    `buffer` is its name. `plus` may be negative: ``LengthOf("row_starts", plus=-1)`` counts the rows of a CSR matrix. A
    launch in which the count would be negative, or reach 2**32, is refused.
    """

    buffer: str
    times: int = 1
    over: int = 1
    plus: int = 0

    def resolve(self, length: int) -> int:
        """The count, when `buffer` has `length` elements."""
        return -(-length * self.times // self.over) + self.plus


class Per(Enum):
    """The unit of a `PerLaunch` count."""

    WORKGROUP = "workgroup"
    INVOCATION = "invocation"


@dataclass(frozen=True, slots=True)
class PerLaunch:
    """The element count grows with the launch: `count` elements for each workgroup or invocation. Scratch only."""

    per: Per
    count: int = 1


Count = int | Runtime | LengthOf | PerLaunch

_FIXED_COUNT = (Memory.CONSTANT, Memory.WORKGROUP, Memory.PRIVATE)


class Buffer:
    """One declaration. Equal declarations are one object, so equality is identity.

    `binding` is the position among the bound buffers (None for constant, workgroup and private memory). `data` holds
    the little-endian contents of constant memory. `output_range` is the half-open byte range of an output that the
    host gets; None means all of it.
    """

    __slots__ = ("__weakref__", "access", "binding", "count", "data", "dtype", "memory", "name", "output_range")

    name: str
    dtype: DType
    access: Access
    memory: Memory
    count: Count
    binding: int | None
    data: bytes | None
    output_range: tuple[int, int] | None

    def __new__(
        cls,
        name: str,
        dtype: DType,
        access: Access,
        memory: Memory = Memory.STORAGE,
        count: Count = RUNTIME,
        binding: int | None = None,
        data: bytes | None = None,
        output_range: tuple[int, int] | None = None,
    ) -> Buffer:
        """Check the declaration on its own; rules about several buffers are the validator's."""
        if not isinstance(name, str):
            raise DeclarationError(f"got the name {name!r}, expected a string", fix="pass a str", where="buffer")
        _require_kinds(f"buffer {name!r}", (dtype, DType), (access, Access), (memory, Memory))
        if data is not None:
            _require_kinds(f"buffer {name!r}", (data, bytes))
        if count.__class__ is not int and count is not RUNTIME:
            count = _exact_count(f"buffer {name!r}", count)
        if binding is not None:
            binding = integer(f"buffer {name!r}", "binding", binding)
        if output_range is not None:
            output_range = _exact_range(f"buffer {name!r}", output_range)
        key = (name, dtype, access, memory, count, binding, data, output_range)
        with _guard.lock:
            known = _declared.get(key)
            if known is not None:
                return known
            _check(*key)
            self = object.__new__(cls)
            for field, value in zip(_FIELDS, key, strict=True):
                object.__setattr__(self, field, value)
            return _declared.setdefault(key, self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"buffers are immutable. Fix: declare a new one with `replace({name}=…)`")

    def __reduce__(self) -> tuple[Any, ...]:
        return Buffer, tuple(getattr(self, field) for field in _FIELDS)

    def replace(self, **changes: Any) -> Buffer:
        """The declaration with some fields changed; `DeclarationError` for a name that is no field."""
        for unknown in changes.keys() - set(_FIELDS):
            fix = f"name one of {', '.join(_FIELDS)}"
            raise DeclarationError(
                f"got the field {unknown!r}, which buffers do not have", fix=fix, where=f"buffer {self.name!r}"
            )
        return Buffer(**{field: changes.get(field, getattr(self, field)) for field in _FIELDS})

    @property
    def is_input(self) -> bool:
        """Whether the host provides the contents."""
        return self.memory is Memory.UNIFORM or (self.memory is Memory.STORAGE and self.access.reads)

    @property
    def is_output(self) -> bool:
        """Whether the host receives the contents."""
        return self.memory is Memory.STORAGE and self.access.writes


_FIELDS = ("name", "dtype", "access", "memory", "count", "binding", "data", "output_range")
_declared: weakref.WeakValueDictionary[tuple[Any, ...], Buffer] = weakref.WeakValueDictionary()
_guard = ForkGuard()


def _require_kinds(where: str, *fields: tuple[object, type]) -> None:
    """Refuse values of another kind than their fields."""
    for given, kind in fields:
        if not isinstance(given, kind):
            message = f"got {shown(given)}, expected {expected(kind)}"
            raise DeclarationError(message, fix=remedy(kind, given), where=where)


def _exact_count(where: str, count: Any) -> Count:
    match count:
        case LengthOf(source, times, over, plus):
            followed: object = source
            if not isinstance(followed, str):
                message = f"the rule follows {followed!r}, expected the name of a buffer"
                raise DeclarationError(message, fix="pass the name as a string, or like=… with the buffer", where=where)
            numbers = {"times": times, "over": over, "plus": plus}
            return LengthOf(source, *[integer(where, field, value) for field, value in numbers.items()])
        case PerLaunch(per, each):
            _require_kinds(where, (per, Per))
            return PerLaunch(per, integer(where, "count", each))
        case _:
            return integer(where, "count", count)


def _exact_range(where: str, output_range: Any) -> tuple[int, int]:
    if not isinstance(output_range, (tuple, list)) or len(output_range) != 2:
        message = f"got the output range {output_range!r}, expected the first byte and the one behind the last"
        raise DeclarationError(message, fix="pass a tuple of two integers", where=where)
    start, stop = (integer(where, "output range", end) for end in output_range)
    return start, stop


def _check(
    name: str,
    dtype: DType,
    access: Access,
    memory: Memory,
    count: Count,
    binding: int | None,
    data: bytes | None,
    output_range: tuple[int, int] | None,
) -> None:
    """Refuse declarations that contradict themselves; what depends on the program is the validator's."""

    def refuse(message: str, fix: str) -> None:
        raise DeclarationError(message, fix=fix, where=f"buffer {name!r}")

    if not name:
        refuse("the name is empty", "give the buffer a name")
    if memory.is_bound != (binding is not None):
        refuse(
            f"{memory.value} memory {'needs a' if memory.is_bound else 'has no'} binding number, got {binding}",
            "number storage, uniform, persistent and scratch buffers from 0, and no others",
        )
    if binding is not None and not 0 <= binding < 2**16:
        refuse(f"binding {binding} is not in 0 … 65535", "number the buffers from 0")
    if isinstance(count, int) and not 0 <= count < 2**32:
        refuse(f"count {count} is not in 0 … 2**32 - 1", "lengths are u32: split the buffer")
    if memory in _FIXED_COUNT and not isinstance(count, int):
        refuse(f"{memory.value} memory has no launch-time size, got {count}", "give the element count as an integer")
    if isinstance(count, LengthOf) and not (
        0 < count.times < 2**64 and 0 < count.over < 2**64 and abs(count.plus) < 2**32
    ):
        fix = "use times and over in 1 … 2**64 - 1, and plus between -2**32 and 2**32"
        refuse(f"the rule {count} cannot be resolved", fix)
    if isinstance(count, PerLaunch) and (memory is not Memory.SCRATCH or not 0 < count.count < 2**32):
        fix = "count per launch for scratch memory only, 1 … 2**32 - 1"
        refuse(f"{count} does not size {memory.value} memory", fix)
    if count is RUNTIME and not (memory is Memory.UNIFORM or (memory is Memory.STORAGE and access.reads)):
        refuse(
            "no input is bound to it, so its length cannot come from one",
            "give a count, or a rule such as `like` another buffer",
        )
    if (data is not None) != (memory is Memory.CONSTANT):
        refuse("data belongs to constant memory, and only there", "embed data with `constant(…)`")
    if data is not None and len(data) != (count if isinstance(count, int) else 0) * dtype.size:
        refuse(f"got {len(data)} bytes of data for {count} elements of {dtype.size} bytes", "make count and data agree")
    if memory in (Memory.UNIFORM, Memory.CONSTANT) and access is not Access.READ:
        refuse(f"{memory.value} memory cannot be written", "declare it as read")
    if (
        memory in (Memory.WORKGROUP, Memory.PRIVATE, Memory.SCRATCH, Memory.PERSISTENT)
        and access is not Access.READ_WRITE
    ):
        refuse(f"{memory.value} memory is both read and written", "declare it as read_write")
    if output_range is not None:
        start, stop = output_range
        if memory is not Memory.STORAGE or not access.writes or not 0 <= start <= stop < 2**63:
            fix = "use 0 <= start <= stop < 2**63 on a written buffer"
            refuse(f"output range {output_range} is not a range of an output", fix)
