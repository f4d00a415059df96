"""Programs in one unit of the compiler: each has its own names and tables, and its own results."""

import numpy as np

from vyre_driver import compile_many
from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program


def looking_up(offset: int) -> Program:
    with program("look up", workgroup_size=32) as p:
        table = p.constant("table", u32, [offset + n * n for n in range(8)])
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = table[x[p.global_id(0)] & 7]
    return p.build()


def test_each_program_finds_its_own_table(backend: VyreBackend) -> None:
    before = backend.backend_metric_snapshot()["compiles"]
    pipelines = compile_many(backend, [looking_up(1000 * n) for n in range(4)])
    assert backend.backend_metric_snapshot()["compiles"] == before + 1
    x = np.arange(100, dtype=np.uint32)
    for n, pipeline in enumerate(pipelines):
        with pipeline:
            assert (pipeline.dispatch_arrays({"x": x})["out"] == 1000 * n + (x & 7) ** 2).all()
