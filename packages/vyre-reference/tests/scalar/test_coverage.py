"""Coverage: counts of what was executed, not of what is written."""

from __future__ import annotations

import contextlib
from collections import Counter
from functools import partial

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import Trapped
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u32
from vyre_foundation.testing import EVERYTHING, generate
from vyre_reference import run, scalar
from vyre_reference.scalar.coverage import Coverage


def covered(built, arrays, config=None):
    coverage = Coverage()
    run(built, arrays, config or DispatchConfig(), partial(scalar.evaluate, coverage=coverage))
    return coverage.counts


def test_what_three_invocations_execute():
    with program("count", 3) as p:
        a = p.read("a", u32)
        out = p.write("out", f32, 3)
        sums = p.scratch("sums", u32, 2)
        i = p.global_id(0)
        with p.if_(i < 2):
            out[i] = a[i].cast(f32)
        with p.else_():
            sums.atomic_max(i, 7)
        with p.range(0, i):
            pass
        with p.if_(i == 9):
            p.trap(1, "never")
        p.barrier()
    counts = covered(p.build(), {"a": np.array([5], np.uint32)})
    assert counts == Counter(
        {
            ("if",): 6,
            ("if", "then"): 2,
            ("if", "else"): 4,
            ("store",): 2,
            ("atomic", "max", "u32", "scratch"): 1,
            ("atomic", "out of bounds", "scratch"): 1,
            ("for",): 3,
            ("for", "entered"): 2,
            ("for", "skipped"): 1,
            ("barrier", "workgroup"): 3,
            ("apply", "lt", "u32"): 3,
            ("apply", "eq", "u32"): 3,
            ("id", "global_id"): 14,
            ("cast", "u32", "f32"): 2,
            ("load", "u32", "storage"): 2,
            ("read", "out of bounds", "storage"): 1,
        }
    )


def test_random_programs_execute_every_kind_of_node():
    seen: Counter[str] = Counter()
    for seed in range(40):
        made = generate(seed, EVERYTHING)
        arrays = {b.name: np.frombuffer(made.inputs[b.name], b.dtype.numpy) for b in made.program.inputs}
        coverage = Coverage()
        config = DispatchConfig(grid_override=made.grid)
        with contextlib.suppress(Trapped):
            run(made.program, arrays, config, partial(scalar.evaluate, coverage=coverage))
        seen.update({kind[0] for kind in coverage.counts})
    statements = "let var assign store if for break continue return barrier atomic subgroup trap region"
    expressions = "apply load local id select cast bitcast length"
    assert {*statements.split(), *expressions.split()} <= seen.keys()
