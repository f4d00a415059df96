"""Which of several exact spellings of an op is the fastest on a device, its composition from other ops among them.

Every variant becomes a small program that applies the op several times, one after another. It is lowered and printed as
all programs are, by a table that spells the op this way, or not at all. The functions that come out stand in one kernel
that picks one by number: so there is one compilation, and each variant has the loops that it would have in earnest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.dialect import CDialect
from vyre_driver.codegen.lower import legalize
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.tune.candidate import Variant
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DType
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS

LANES = 256
CHAIN = 4
"""Applications in a row: more than the loads and the store that stand around them."""
MARGIN = 0.9
"""A variant must take less than this part of the time of the table's own choice, or noise would decide."""
KERNEL = "measure"


@dataclass(frozen=True, slots=True)
class TimingUnit:
    """A text whose kernel `KERNEL` runs variant number `which`, `repeats` times over the lanes of one workgroup.

    Its arguments are ``which``, ``repeats`` as u32, then for each of `types` two inputs and an output of `LANES`
    elements. `workgroup` work items launch it. `variants` are those that could be written down.
    """

    text: str
    variants: tuple[Variant, ...]
    types: tuple[DType, ...]
    workgroup: int


def timing_unit(dialect: CDialect, variants: Iterable[Variant]) -> TimingUnit:
    """The variants as one text for the target of `dialect`."""
    found = [(v, _function(dialect, v, f"variant_{n}")) for n, v in enumerate(variants)]
    written = {v: function for v, function in found if function is not None}
    types = tuple(dict.fromkeys(v.operand for v in written))
    workgroup = max((function.workgroup for function in written.values()), default=1)
    parameters = [dialect.length_parameter.format(name=name) for name in ("which", "repeats")]
    for t in types:
        for name, access in (("a", Access.READ), ("b", Access.READ), ("out", Access.WRITE)):
            parameter = dialect.parameters[Memory.STORAGE, access]
            parameters.append(parameter.format(type=dialect.types[t], name=f"{name}_{t}"))
    head = dialect.kernel.format(name=KERNEL, parameters=", ".join(parameters), x=workgroup, y=1, z=1)
    cases = [
        f"case {n}: {function.name}(a_{v.operand}, b_{v.operand}, out_{v.operand}); break;"
        for n, (v, function) in enumerate(written.items())
    ]
    loop = f"for ({dialect.length_parameter.format(name='n').removeprefix('const ')} = 0; n < repeats; n += 1)"
    body = [head, "{", loop, "{", "switch (which) {", *cases, "}", "}", "}", ""]
    text = dialect.prelude + "".join(function.text for function in written.values()) + "\n".join(body)
    return TimingUnit(text, tuple(written), types, workgroup)


def fastest(times: Mapping[Variant, float]) -> dict[tuple[str, DType], Variant]:
    """For each op and type the variant to take.

    The first of a row is the table's own choice, and stays unless another is faster by `MARGIN`.
    """
    chosen: dict[tuple[str, DType], Variant] = {}
    for row in dict.fromkeys((v.op, v.operand) for v in times):
        own, *others = [v for v in times if (v.op, v.operand) == row]
        best = min(others, key=lambda v: times[v], default=own)
        chosen[row] = best if times[best] < MARGIN * times[own] else own
    return chosen


@dataclass(frozen=True, slots=True)
class _Function:
    """One variant, printed: how it is called, and how many work items run it."""

    name: str
    text: str
    workgroup: int


def _function(dialect: CDialect, variant: Variant, name: str) -> _Function | None:
    """A function that applies the variant over a workgroup; None where the target cannot compose the op."""
    key = variant.op, variant.operand
    ops = {row: text for row, text in dialect.ops.items() if row != key}
    table = replace(
        dialect,
        prelude="",
        kernel="static void {name}({parameters})",
        ops=ops if variant.text is None else {**ops, key: variant.text},
    )
    source = _chain(variant, name)
    try:
        lowered = legalize(source, source.validate(), table.target())
    except UnsupportedFeature:
        return None
    printed = print_unit(lowered, table)
    return _Function(printed.entries[0], printed.text, lowered.kernels[0].program.workgroup_volume)


def _chain(variant: Variant, name: str) -> Program:
    """x = op(x ∘ y, y, …), several times: what joins two applications keeps a compiler from making one of them."""
    op, t = OPS[variant.op], variant.operand
    with program(name, LANES) as p:
        a, b = p.read("a", t, LANES), p.read("b", t, LANES)
        out = p.write("out", t, LANES)
        i = p.local_id(0)
        x, y = p.let(a[i]), p.let(b[i])
        for _ in range(CHAIN):
            x = p.let(apply(op.id, x + y if t.is_float else x ^ y, *[y] * (op.arity - 1)))
        out[i] = x
    return p.build()
