"""Laws: what must be equal whatever the right answer is. No table of results is asked, no evaluator has to be right.

The algebra is that of the op table. Operands that have to be equal come from different buffers, so that no compiler can
know it. Grids are split and workgroups change places: what a program computes does not depend on either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from vyre_conform.address import Address, address
from vyre_conform.case import Alike, Exactly, Expected, Launch, OutputSlice, Spec, Work, seeded
from vyre_conform.cases.ops import LANGUAGE
from vyre_conform.cases.values import pack, pack_bits
from vyre_foundation.build import Array, Value, apply, program
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ops import Laws, Op
from vyre_foundation.ops.scalar import Scalar
from vyre_foundation.testing.values import random_bits

ROWS = 333
GROUP = 32


@dataclass(frozen=True, slots=True)
class Operands:
    """The same values twice, and values that some laws need, each from a buffer of its own."""

    op: Op
    x: Value
    y: Value
    z: Value
    x2: Value
    y2: Value
    z2: Value
    neutral: Value
    absorbing: Value
    zero: Value

    def __call__(self, *operands: Value) -> Value:
        return apply(self.op, *operands)


Sides = Callable[[Operands], tuple[Value, Value]]

# fmt: off
SIDES: Mapping[str, Sides] = {
    "commutative":  lambda o: (o(o.x, o.y), o(o.y2, o.x2)),
    "associative":  lambda o: (o(o(o.x, o.y), o.z), o(o.x2, o(o.y2, o.z2))),
    "idempotent":   lambda o: (o(o.x, o.x2), o.x),
    "involution":   lambda o: (o(o(o.x)), o.x2),
    "identity":     lambda o: (o(o.x, o.neutral), o.x2),
    "absorbing":    lambda o: (o(o.x, o.absorbing), o.absorbing),
    "self_inverse": lambda o: (o(o.x, o.x2), o.zero),
}
# fmt: on


def specs() -> Iterator[Spec]:
    for op in LANGUAGE:
        for dtype in op.accepts:
            if names := laws_of(op, dtype):
                case = seeded(address("laws", op.id, dtype=dtype), _laws, op, dtype)
                yield replace(case, parts=tuple(_at(op, dtype, name) for name in names))
    for order in ("reversed", "shuffled", "rotated"):
        yield seeded(address("laws", "workgroups", order=order), _permuted, order)
    for groups in (1, 2, 5):
        yield seeded(address("laws", "split_grid", groups=groups), _split, groups)


def laws_of(op: Op, dtype: DType) -> list[str]:
    """The laws that the table states for a type."""
    laws = op.laws_for(dtype)
    return [name for name in SIDES if _holds(laws, name)]


def _holds(laws: Laws, name: str) -> bool:
    stated = getattr(laws, name)
    return stated is not None and stated is not False


def _at(op: Op, dtype: DType, law: str) -> Address:
    return address("laws", op.id, dtype=dtype, law=law)


def _laws(op: Op, dtype: DType, rng: Random) -> Work:
    """Two outputs for each law: its left and its right side."""
    names = laws_of(op, dtype)
    laws, result = op.laws_for(dtype), op.results[dtype]
    with program(f"laws_{op.id}_{dtype}", GROUP) as p:
        arrays: list[Array] = [p.read(name, dtype) for name in ("x", "y", "z", "x2", "y2", "z2")]
        constants = p.read("constants", dtype, 3)
        i = p.let(p.global_id(0))
        o = Operands(op, *[array[i] for array in arrays], *[constants[n] for n in range(3)])
        for name in names:
            left, right = SIDES[name](o)
            p.write(f"{name}_left", result, like=arrays[0])[i] = left
            p.write(f"{name}_right", result, like=arrays[0])[i] = right
    columns = [pack_bits(dtype, [random_bits(rng, dtype) for _ in range(ROWS)]) for _ in "xyz"]
    inputs = dict(zip(("x", "y", "z", "x2", "y2", "z2"), columns * 2, strict=True))
    values = [_number(dtype, laws.identity), _number(dtype, laws.absorbing), 0]
    inputs["constants"] = pack(dtype, [float(v) if dtype.is_float else v for v in values])
    pairs = [(f"{name}_left", f"{name}_right") for name in names]
    parts = [OutputSlice(_at(op, dtype, name), range(ROWS), pair) for name, pair in zip(names, pairs, strict=True)]
    return Launch(program=p.build(), inputs=inputs), Alike(tuple(pairs)), *tuple(parts)


def _number(dtype: DType, value: float | str | None) -> Scalar:
    """A value of the op table; 0 where a law has none."""
    match value:
        case None:
            return 0
        case "ones":
            return -1 if dtype.is_signed else dtype.highest if dtype.is_integer else True
        case "lowest" | "highest":
            return int(getattr(dtype, value)) if dtype.is_integer else value == "highest"
        case int() | float():
            return value
    raise ValueError(f"{value!r} is no value of the op table")


def _permuted(name: str, rng: Random) -> tuple[Launch, Expected]:
    """Each workgroup does the work of another one, which a table gives."""
    groups = 7
    order = list(range(groups))
    match name:
        case "reversed":
            order.reverse()
        case "rotated":
            order = [*order[3:], *order[:3]]
        case _:
            rng.shuffle(order)
    with program("permuted", GROUP) as p:
        x, table = p.read("x", u32), p.read("order", u32)
        out = p.write("out", u32, like=x)
        shared = p.workgroup("shared", u32, GROUP)
        local = p.let(p.local_id(0))
        i = p.let(table[p.workgroup_id(0)] * GROUP + local)
        shared[local] = x[i]
        p.barrier()
        out[i] = shared[GROUP - 1 - local] * 3 + i
    values = [rng.randrange(2**32) for _ in range(groups * GROUP)]
    results = [(values[n // GROUP * GROUP + GROUP - 1 - n % GROUP] * 3 + n) % 2**32 for n in range(len(values))]
    inputs = {"x": pack(u32, values), "order": pack(u32, order)}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, results),), ("x",))


def _split(groups: int, rng: Random) -> tuple[Launch, Expected]:
    """A grid in two dispatches, the second of which begins where the first ends, is the grid in one."""
    with program("split", GROUP) as p:
        first, x = p.uniform("first", u32, 1), p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.let(first[0] * GROUP + p.global_id(0))
        out[i] = (x[i] ^ i) + first.length
    values = [rng.randrange(2**32) for _ in range(groups * GROUP)]
    results = [((v ^ n) + 1) % 2**32 for n, v in enumerate(values)]
    inputs = {"x": pack(u32, values), "first": bytes(4)}
    launch = Launch(program=p.build(), inputs=inputs, grid=(groups, 1, 1), entry="split")
    return launch, Exactly((pack(u32, results),), ("x",))
