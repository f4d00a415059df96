"""Workgroup memory is zero when a workgroup starts; a device gives it as it was left."""

from __future__ import annotations

from vyre_driver.legalization.coordinates import local_index
from vyre_driver.legalization.dead_initialisation import dead_initialisations
from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.kernel_memory import read_buffers, written_buffers
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Literal, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Barrier, Body, For, If, Stmt, Store
from vyre_foundation.ops import OPS


def fill_with_zeros(program: Program, source: Program) -> Program:
    """Clear workgroup memory that may be read before it is written.

    ``…``  →  ``for k in [local, count) step volume: w[k] = 0; barrier; …``, for each workgroup array of `source`

    Arrays that are written all over before they are read need no zeros, and those that lowering has added are.
    """
    arrays = [b for b in program.buffers if b.memory is Memory.WORKGROUP and b in source.buffers]
    if arrays:  # few programs have any, and it takes a while to see what becomes of them
        used = (read_buffers(program) | written_buffers(program)) - dead_initialisations(program)
        arrays = [b for b in arrays if b in used]
    if not arrays:
        return program
    fresh = Fresh.of(program)
    fills = [stmt for array in arrays for stmt in _fill(program, array, fresh)]
    meeting = () if program.workgroup_volume == 1 else (Barrier(),)
    return declare(program, (*fills, *meeting, *program.body))


def _fill(program: Program, array: Buffer, fresh: Fresh) -> Body:
    """The invocations share the elements out; with as many invocations as elements no loop is needed."""
    assert isinstance(array.count, int)
    zero, first, count = Literal(array.dtype, 0), local_index(program), literal(u32, array.count)
    whole, rest = divmod(array.count, program.workgroup_volume)
    if whole > 1 or (whole and rest):
        k = Local(fresh(f"{array.name}_k"), u32)
        store = Store(array, k, zero, checked=False)
        return (For(k.name, first, count, program.workgroup_volume, (store,)),)
    store = Store(array, first, zero, checked=False)
    guard: Expr = Apply(OPS["lt"], first, count)
    stmt: Stmt = store if not rest else If(guard, (store,))
    return (stmt,) if array.count else ()
