"""A NaN has its canonical bits wherever the host or the program sees bits, and no select is spent elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DType, bf16, f16, f32, f64, u32
from vyre_foundation.ir.expr import Literal, Select
from vyre_foundation.ir.walk import program_expressions

ODD_NANS = {
    f16: [0x7E01, 0xFE00, 0x7C01, 0xFFFF, 0x3C00],
    bf16: [0x7FC1, 0xFFC0, 0x7F81, 0xFFFF, 0x3F80],
    f32: [0x7FC00001, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x3F800000],
    f64: [0x7FF8 << 48 | 1, 0xFFF8 << 48, 0x7FF0 << 48 | 1, 2**64 - 1, 0x3FF0 << 48],
}


def selects_of_nan(program) -> int:
    nodes = (n for n in program_expressions(program) if isinstance(n, Select))
    return sum(any(isinstance(a, Literal) and a.value != a.value for a in n.args) for n in nodes)


@pytest.mark.parametrize("dialect", ["single", "full", "rich", "loops"])
@pytest.mark.parametrize("dtype", ODD_NANS, ids=str)
def test_nans_are_canonical_in_outputs_and_as_bits(dtype: DType, dialect, case, check):
    if dtype is f64 and dialect == "single":
        return
    data = b"".join(x.to_bytes(dtype.size, "little") for x in ODD_NANS[dtype])
    with program("nans", 8) as p:
        a, shared = p.read("a", dtype), p.workgroup("shared", dtype, 8)
        i = p.global_id(0)
        x = p.let(a[i])
        shared[i] = x
        p.barrier()
        p.write("copied", dtype, like=a)[i] = x
        p.write("through", dtype, like=a)[i] = shared[i]
        p.write("bits", dtype.unsigned, like=a)[i] = x.bitcast(dtype.unsigned)
        p.write("negated", dtype, like=a)[i] = -x
    check(case(p.build(), {"a": data}), dialect)


def test_numbers_are_stored_as_they_are(dialects, case):
    with program("numbers", 8) as p:
        a, n = p.read("a", f32), p.read("n", u32)
        i = p.global_id(0)
        p.write("converted", f32, like=n)[i] = n[i].cast(f32)
        p.write("constant", f32, like=n)[i] = p.let(1.5, f32)
        p.write("least", f32, like=n)[i] = apply("min", a[i], 1.0)
        p.write("sign", f32, like=n)[i] = apply("sign", -n[i].cast(f32))
    kernel = case(p.build(), {"a": [1.0], "n": [1]}).lower(dialects["full"].target()).kernels[0]
    assert selects_of_nan(kernel.program) == 0


def test_memory_that_the_host_does_not_see_costs_nothing(dialects, case):
    with program("inner", 8) as p:
        a, shared, own = p.read("a", f32), p.workgroup("shared", f32, 8), p.private("own", f32, 1)
        kept = p.scratch("kept", f32, 8)
        i = p.local_id(0)
        shared[i] = a[i] * a[i]
        own[0] = a[i] + a[i]
        kept[i] = a[i] - a[i]
        p.barrier()
        p.write("out", f32, 8)[i] = shared[i] + own[0] + kept[i]
    kernel = case(p.build(), {"a": np.ones(8)}).lower(dialects["full"].target()).kernels[0]
    assert selects_of_nan(kernel.program) == 1
