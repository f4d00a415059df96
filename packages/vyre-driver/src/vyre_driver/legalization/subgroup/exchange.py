"""How a lane gets the value of another: by a shuffle of the target, or through workgroup memory."""

from __future__ import annotations

from abc import ABC, abstractmethod

from vyre_driver.legalization.coordinates import add
from vyre_driver.legalization.declare import workgroup_array
from vyre_driver.legalization.target import Target
from vyre_foundation.dtype import DType, bf16, bool_, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.stmt import Barrier, Body, Let, Stmt, Store, Subgroup, SubgroupOp
from vyre_foundation.ops import OPS

_WIDER = {bool_: u32, u8: u32, u16: u32, i8: i32, i16: i32, f16: f32, bf16: f32}
_SAME_BITS = {i32: u32, f32: u32, i64: u64, f64: u64}


class Exchange(ABC):
    """The exchanges of one statement: `fetch` adds statements to `out` and gives the value of the other lane."""

    def __init__(self, fresh: Fresh, out: list[Stmt]) -> None:
        self._fresh, self.out = fresh, out

    def bind(self, stem: str, value: Expr) -> Expr:
        """`value`, computed here and now."""
        name = self._fresh(stem)
        self.out.append(Let(name, value))
        return Local(name, value.dtype)

    @abstractmethod
    def fetch(self, value: Expr, lane: Expr) -> Expr:
        """What `value` is in the lane `lane`, a u32 below the subgroup size."""

    def closing(self) -> Body:
        """What must come before the exchanges of the next statement."""
        return ()


class Shuffle(Exchange):
    """Exchanges by the target, of a type that it shuffles and that holds the values."""

    @staticmethod
    def carrier(dtype: DType, target: Target) -> DType | None:
        """The type that values of `dtype` are shuffled in; None if the target shuffles none that holds them."""
        for choice in (dtype, _WIDER.get(dtype), _SAME_BITS.get(_WIDER.get(dtype, dtype))):
            if choice in target.arithmetic and (SubgroupOp.SHUFFLE, choice) in target.subgroup_ops:
                return choice
        return None

    def __init__(self, fresh: Fresh, out: list[Stmt], carrier: DType) -> None:
        super().__init__(fresh, out)
        self._carrier = carrier

    def fetch(self, value: Expr, lane: Expr) -> Expr:
        """The value in another lane, by the target's shuffle."""
        name = self._fresh("shuffled")
        self.out.append(Subgroup(SubgroupOp.SHUFFLE, _converted(value, self._carrier), lane, name))
        return _converted(Local(name, self._carrier), value.dtype)


class ExchangeMemory(Exchange):
    """Exchanges through an array with two elements for each invocation of the workgroup.

    The halves alternate: what is read from one is read before the barrier that follows the next write to the other,
    so one barrier an exchange is enough. A statement starts with the first half; if it ended with that one too, a last
    barrier keeps the next statement from writing too early.
    """

    @staticmethod
    def array(dtype: DType, volume: int, fresh: Fresh) -> Buffer:
        """The workgroup array for exchanges of values of `dtype`: two elements for each of `volume` invocations.

        Exchanges alternate between its halves, so that one barrier is enough for each.
        """
        dtype = _WIDER[dtype] if dtype in (f16, bf16) else dtype  # cheaper than their patterns
        return workgroup_array(fresh(f"lanes_{dtype}"), dtype, 2 * volume)

    def __init__(self, fresh: Fresh, out: list[Stmt], array: Buffer, index: Expr, first_of_subgroup: Expr) -> None:
        super().__init__(fresh, out)
        self._array, self._index, self._first = array, index, first_of_subgroup
        self._exchanges = 0

    def fetch(self, value: Expr, lane: Expr) -> Expr:
        """The value in another lane, through workgroup memory and a barrier."""
        assert isinstance(self._array.count, int)
        half = self._exchanges % 2 * self._array.count // 2
        self._exchanges += 1
        mine, other = (
            add(index, literal(u32, half)) if half else index for index in (self._index, add(self._first, lane))
        )
        self.out.append(Store(self._array, mine, _converted(value, self._array.dtype), checked=False))
        self.out.append(Barrier())
        fetched = self.bind("fetched", Load(self._array, other, checked=False))
        return _converted(fetched, value.dtype)

    def closing(self) -> Body:
        """A barrier after an odd number of exchanges: those of the next statement begin with the first half again."""
        return (Barrier(),) if self._exchanges % 2 else ()


def _converted(value: Expr, dtype: DType) -> Expr:
    """`value` in a type that holds all values of its own, or back: by value, or by its bits."""
    if value.dtype is dtype:
        return value
    middle = _WIDER.get(value.dtype, value.dtype)
    if middle is not value.dtype:
        return _converted(Cast(middle, value), dtype)
    if value.dtype.bits == dtype.bits:
        return Bitcast(dtype, value)
    wide = _WIDER[dtype]
    if wide is not value.dtype:
        return _converted(Bitcast(wide, value), dtype)
    return Apply(OPS["ne"], value, literal(value.dtype, 0)) if dtype is bool_ else Cast(dtype, value)
