"""Facts that take time are found when somebody asks, once, and look the same as if they had been there."""

import gc
from collections.abc import Mapping
from dataclasses import replace
from threading import Barrier, Thread

import pytest

from vyre_foundation import Program, fingerprint, program, u32, validate
from vyre_foundation.ir.expr import interned_count
from vyre_foundation.validate import Interval, Uniformity
from vyre_foundation.validate.later import Later


def histogram() -> Program:
    with program("histogram", 64) as p:
        x = p.read("x", u32)
        bins = p.read_write("bins", u32, 256)
        bins.atomic_add(x[p.global_id(0)] & 255, 1)
    return p.build_unchecked()


def test_a_table_is_computed_at_the_first_look_and_kept() -> None:
    looks: list[int] = []

    def compute() -> Mapping[str, int]:
        looks.append(1)
        return {"a": 1}

    table = Later(compute)
    assert looks == []
    assert table["a"] == 1
    assert "a" in table
    assert "b" not in table
    assert (list(table), len(table), table.get("a"), table.get("b", 7)) == (["a"], 1, 1, 7)
    assert table == {"a": 1}
    assert looks == [1]
    assert table.now is table.now
    with pytest.raises(KeyError):
        table["b"]


def test_facts_of_a_program_are_kept() -> None:
    p = histogram()
    assert p.validate() is p.validate()
    assert p.validate().determinism is p.validate().determinism
    assert p.validate().ranges is p.validate().ranges


def test_facts_are_the_same_in_whatever_order_somebody_asks() -> None:
    p = histogram()
    first, last = validate(p), validate(p)
    determinism = first.determinism
    assert last.uniformity == first.uniformity
    assert last.ranges == first.ranges
    assert last.determinism == determinism
    assert determinism.is_deterministic
    (index,) = (node for node in first.ranges if first.ranges[node] == Interval(0, 255) and node.args)
    assert first.in_bounds(256, index)
    assert first.uniformity[index] is Uniformity.NONE


def test_a_copy_with_other_facts_keeps_the_proof() -> None:
    facts = validate(histogram())
    assert replace(facts, ranges={}).determinism == facts.determinism
    assert replace(facts, ranges={}).ranges == {}


def test_threads_that_ask_at_the_same_time_get_equal_facts() -> None:
    facts = validate(histogram())
    start = Barrier(4)
    found: list[tuple[object, ...]] = []

    def ask() -> None:
        start.wait()
        found.append((dict(facts.ranges), dict(facts.uniformity), facts.determinism))

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(each == found[0] for each in found)


def test_nothing_of_a_program_stays_when_it_is_forgotten() -> None:
    """What was found about a program is no cycle that waits for the collector."""
    gc.disable()
    try:
        before = interned_count()
        with program("forgotten", 64) as p:
            out = p.write("out", u32, 4)
            with p.if_(p.local_id(0) < 0x0F01):
                out[0x0F02] = 0x0F03
        forgotten = p.build_unchecked()
        fingerprint(forgotten)
        assert not validate(forgotten).determinism.reasons
        assert interned_count() > before
        del forgotten, p, out
        assert interned_count() == before
    finally:
        gc.enable()
