"""Programs that a runtime's optimizer computed wrong, or ended the process over, reduced where that was possible."""

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import f32, f64, i32, u8, u32
from vyre_foundation.ir.stmt import SubgroupOp
from vyre_foundation.testing import DEFAULT, NARROW, STRUCTURED, Profile, generate


def test_the_complement_of_a_minimum(agree) -> None:
    """In loops that are no vectors: all ones were put into a register that the instruction does not reach."""
    with program("complement", workgroup_size=(1, 3, 1)) as p:
        keep = p.read_write("keep", i32, 32)
        place = p.let((p.global_id(1) + 1) * 2)
        with p.range(0, p.local_id(1) + 1):
            keep.atomic_or(place, 0)
            keep[place] = ~apply("min", keep[place + 1], keep[place])
    agree(p.build(), [np.arange(32, dtype=np.int32)], DispatchConfig(grid_override=(1, 1, 1)))


@pytest.mark.parametrize("which", ["first", "another", "between", "behind", "chosen", "return"])
def test_a_loop_of_one_invocation(agree, which: str) -> None:
    """Of whole kernels: the compiler made bounds of the comparison, and ended over the loop behind it."""
    with program("one", workgroup_size=8) as p:
        ends, x = p.read("ends", u32), p.read("x", u8, 512)
        out = p.write("out", u8, 512)
        i = p.global_id(0)
        if which == "return":
            with p.if_(i >= 1):
                p.return_()
            with p.range(ends[1]) as k:
                out[i * 48 + k] = x[i * 48 + k]
        else:
            conditions = {"first": i == 0, "another": i == 3, "between": (i > 2) & (i < 4), "behind": i - 5 < 1}
            with p.if_(conditions.get(which, i == ends[0])), p.range(ends[1]) as k:
                out[i * 48 + k] = x[i * 48 + k]
    inputs = [np.array([3, 40], np.uint32), np.arange(512).astype(np.uint8)]
    agree(p.build(), inputs, DispatchConfig(grid_override=(2, 1, 1)))


def test_products_and_sums_stay_apart_where_subgroups_part(agree) -> None:
    """A kernel that must not be vectors, and whose subgroups demand them, is not optimized, and had them contracted."""
    n = 1 << 12
    with program("apart", workgroup_size=64, subgroup_size=16) as p:
        x, y = p.read("x", f32, n), p.read("y", f32, n)
        out, marks, i = p.write("out", f32, n), p.write("marks", u32, n), p.global_id(0)
        v = p.var(x[i])
        most = p.subgroup(SubgroupOp.REDUCE_MAX, x[i])
        with p.if_(x[i] < most):
            with p.if_(i < 100):
                marks[i] = 1
            v.set(v * 3.0 + y[i])
        out[i] = v
    random = np.random.default_rng(5)
    given = [random.normal(size=n).astype(np.float32) for _ in range(2)]
    agree(p.build(), given)


@pytest.mark.parametrize(
    ("profile", "seed"),
    [
        (DEFAULT, 509305557773),  # a value that is assigned in a branch with a branch
        (STRUCTURED, 800387607789),
        (DEFAULT, 803420025396),  # signs that change before a barrier
        (DEFAULT, 553060259053),
        (NARROW, 1016104007070),
        (NARROW, 25176970415),  # a loop that divides beside a checked load
        (NARROW, 515770441454),  # loops that must not be unrolled
        (NARROW, 487031281690),  # a product and a sum in a kernel that is not optimized
    ],
)
def test_a_random_program_that_was_wrong(agree, profile: Profile, seed: int) -> None:
    drawn = generate(seed, profile)
    config = DispatchConfig(grid_override=drawn.grid, fixpoint_iterations=drawn.iterations)
    agree(drawn.program, [drawn.inputs[buffer.name] for buffer in drawn.program.inputs], config)


def test_a_long_chain_of_minima_and_maxima(agree) -> None:
    """Compilers took a minute for 15 steps of it, and twice as long for each step more."""
    steps = 24
    with program("chain", 8) as p:
        x = p.read("x", f64)
        out = p.write("out", f64, like=x)
        shared = p.workgroup("shared", f64, 8 * 48)
        own = p.let(p.local_id(0) * 48)
        for n in range(40):
            shared[own + n] = x[p.global_id(0)] * float(n % 7 - 3)
        with p.range(9, 9 + steps) as n:
            at = p.let(own + (47 - n))
            greater = apply("max", shared[at + 4], shared[at - 5])
            shared[at + 3] = apply("min", greater, shared[at + 3])
        out[p.global_id(0)] = shared[own + 20]
    agree(p.build(), [np.array([1.5, -0.0, np.nan, -2.25, np.inf, 0.0, 7.0, -1e300])], DispatchConfig())
