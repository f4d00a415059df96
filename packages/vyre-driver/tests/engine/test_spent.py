"""Where the time of calls goes: what is counted for which calls, and how it is shown."""

from typing import Any

import pytest

from vyre_driver.errors import KernelCompileFailed
from vyre_driver.observe.calls import observed
from vyre_driver.observe.spent import CallTotals, Spent
from vyre_driver.testing.fake_port import InjectedError

from .programs import DOUBLED, A, Engine, double, doubling

TABLE = """\
method                   program  calls      ms   plan  lower  compile   bind    rest  enqueue   wait  device  \
plans  compiles  prepares  launches  waits
dispatch_resident_timed  edges        1  21.000  1.000  2.000    3.000  4.000  11.000        –  0.500       –  \
    1         1         1         3      3
dispatch                 blur         3  20.000  1.000  2.000    3.000  4.000  10.000        –      –       –  \
    1         1         1         3      3"""
PHASES = ("plan", "lower", "compile", "bind")


def test_a_first_dispatch_has_all_phases_and_a_warm_one_none(engine: Engine) -> None:
    backend, source = engine(double).backend, doubling()
    first, warm = Spent(backend), Spent(backend)
    assert observed(backend, first).dispatch(source, [A]) == [DOUBLED]
    for _ in range(3):
        observed(backend, warm).dispatch(source, [A])
    row = first.rows["dispatch", "doubling"]
    assert all(row.ns[phase] > 0 for phase in PHASES)
    assert sum(row.ns.values()) < row.wall_ns
    assert row.counts == {"plans": 1, "compiles": 1, "prepares": 1, "launches": 1, "waits": 1}
    row = warm.rows["dispatch", "doubling"]
    assert row.calls == 3
    assert row.ns == dict.fromkeys(PHASES, 0)
    assert row.rest_ns == row.wall_ns
    assert row.counts == {"plans": 0, "compiles": 0, "prepares": 0, "launches": 3, "waits": 3}


def test_dispatches_one_by_one_say_what_each_prepares(engine: Engine) -> None:
    """Over other resources each time: one plan, and a launch and a wait for each call."""
    backend, source = engine(double).backend, doubling()
    resources = [backend.allocate_resident(20) for _ in range(5)]
    spent = Spent(backend)
    watched = observed(backend, spent)
    for to in resources[1:]:
        watched.dispatch_resident_timed(source, [resources[0], to])
    row = spent.rows["dispatch_resident_timed", "doubling"]
    assert row.counts == {"plans": 1, "compiles": 1, "prepares": 4, "launches": 4, "waits": 4}
    assert row.ns["device"] == 4 * 1000
    assert row.ns["enqueue"] + row.ns["wait"] <= row.wall_ns
    assert "4" in str(spent).splitlines()[1].split()


def test_a_call_that_fails_is_counted(engine: Engine) -> None:
    backend = engine(double, faults=[InjectedError("compile", KernelCompileFailed("fake", "no"))]).backend
    spent = Spent(backend)
    with pytest.raises(KernelCompileFailed):
        observed(backend, spent).dispatch(doubling(), [A])
    row = spent.rows["dispatch", "doubling"]
    assert row.counts["launches"] == row.ns["bind"] == 0
    assert row.ns["compile"] > 0


def test_the_table(engine: Engine) -> None:
    spent: Any = Spent(engine().backend)
    counts = {"plans": 1, "compiles": 1, "prepares": 1, "launches": 3, "waits": 3}
    times = {"plan": 1_000_000, "lower": 2_000_000, "compile": 3_000_000, "bind": 4_000_000}
    spent.rows["dispatch", "blur"] = CallTotals(3, 20_000_000, times, counts)
    spent.rows["dispatch_resident_timed", "edges"] = CallTotals(1, 21_000_000, {**times, "wait": 500_000}, counts)
    assert str(spent) == TABLE
