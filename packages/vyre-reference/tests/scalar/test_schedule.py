"""Schedules: orders are permutations, seeds decide them, deterministic programs do not notice."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_reference import run, scalar
from vyre_reference.scalar.schedule import InOrder, Shuffled


def test_in_order_is_ascending():
    assert InOrder().order({3: 0, 1: 0, 2: 0}) == [1, 2, 3]
    assert not InOrder().gives_way()


def test_shuffled_is_a_permutation_that_the_seed_decides():
    one, same, other = Shuffled(5), Shuffled(5), Shuffled(6)
    first = one.order(range(50))
    assert sorted(first) == list(range(50)) != first
    assert same.order(range(50)) == first != other.order(range(50))
    assert one.order(range(50)) != first


def tickets():
    with program("tickets", 4) as p:
        counter = p.read_write("counter", u32, 1)
        out = p.write("out", u32, 16)
        with p.range(0, 2) as k:
            out[p.global_id(0) * 2 + k] = counter.atomic_add(0, 1)
    return p.build()


def taken(schedule):
    config = DispatchConfig(grid_override=(2, 1, 1))
    inputs = {"counter": np.zeros(1, np.uint32)}
    return run(tickets(), inputs, config, partial(scalar.evaluate, schedule=schedule))["out"].tolist()


def test_results_of_atomics_follow_the_schedule():
    assert taken(InOrder()) == list(range(16))
    orders = {tuple(taken(Shuffled(seed))) for seed in range(6)}
    assert len(orders) == 6
    assert all(sorted(order) == list(range(16)) for order in orders)


def test_one_invocation_is_overtaken_between_two_atomics():
    """A shuffled schedule does not only permute: the two tickets of an invocation need not follow each other."""
    assert any(second != first + 1 for first, second in zip(*[iter(taken(Shuffled(3)))] * 2, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_a_deterministic_program_does_not_notice(seed):
    with program("quiet", 8) as p:
        a = p.read("a", u32)
        out, total = p.write("out", u32, like=a), p.write("total", u32, 1)
        shared = p.workgroup("shared", u32, 8)
        scratch = p.scratch("scratch", u32, like=a)
        i, l = p.global_id(0), p.local_id(0)
        shared[l] = a[i]
        p.barrier()
        scratch[i] = shared[7 - l] * 3
        total.atomic_add(0, a[i])
        p.grid_barrier()
        out[i] = scratch[(i + 11) % a.length]
    a = np.arange(24, dtype=np.uint32)
    got = run(p.build(), {"a": a}, evaluate=partial(scalar.evaluate, schedule=Shuffled(seed)))
    assert np.array_equal(got["out"], np.roll(a.reshape(3, 8)[:, ::-1].reshape(-1) * 3, -11))
    assert got["total"].tolist() == [a.sum()]
