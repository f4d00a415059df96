"""Stores to elements that nothing loads are dropped, and a scan means what it meant."""

from __future__ import annotations

from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.stmt import For
from vyre_foundation.ir.walk import statements

SIZE = 32


def test_the_loops_of_a_scan_begin_where_it_adds(case, check) -> None:
    with program("scan", SIZE) as p:
        x, out = p.read("x", u32, SIZE), p.write("out", u32, SIZE)
        w, l = p.workgroup("w", u32, SIZE), p.local_id(0)
        w[l] = x[l]
        for distance in (8, 16):
            p.barrier()
            before, own = p.let(w[l - distance]), p.let(w[l])
            p.barrier()
            with p.if_(l >= distance):
                w[l] = before + own
        p.barrier()
        out[l] = w[l]
    lowered = check(case(p.build(), {"x": range(1, SIZE + 1)}), "loops")
    (kernel,) = lowered.kernels
    starts = [int(s.start.value) for s in statements(kernel.program.body) if isinstance(s, For)]
    assert starts == [0, 8, 8, 16, 16, 0]
