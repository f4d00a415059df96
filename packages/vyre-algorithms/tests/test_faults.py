"""Planted faults: what the tests compare with shows each of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from algorithm_data import data

import vyre_algorithms as va
from vyre_algorithms import exact, launches, merges, scans, short_sorts, sorts, spectra, tree


@pytest.fixture(autouse=True)
def fresh_programs():
    """Programs are built anew for each fault, and again behind it."""
    caches = (tree.block_program, exact._accumulate, short_sorts.serial_sort, merges._merge, scans.block_scan)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_a_tree_of_other_lanes(monkeypatch):
    x = data("f4", 9000)
    right = va.sum(x, backend="cpu")
    tree.block_program.cache_clear()
    monkeypatch.setattr(tree, "LANES", 32)
    monkeypatch.setattr(tree, "STEPS", 128)
    assert va.sum(x, backend="cpu") != right


def without_rests(p, sums, element):
    for total in sums:
        total.set(total.get() + (element if total is sums[0] else 0.0))


@pytest.mark.parametrize(
    ("name", "fault", "x"),
    [("_spread", without_rests, data("f8", 5000)), ("FIRST", 52, np.full(4096, np.nextafter(2, 0)))],
    ids=["lost rests", "a sum that leaves its binade"],
)
def test_faults_of_exact_sums(monkeypatch, name, fault, x):
    wanted = math.fsum(x.tolist())
    assert va.exact_sum(x, backend="cpu") == wanted
    exact._accumulate.cache_clear()
    monkeypatch.setattr(exact, name, fault)
    assert va.exact_sum(x, backend="cpu") != wanted


def test_ties_in_another_order(monkeypatch):
    x = data("u1", 1000) & 3
    order = np.argsort(x, stable=True)
    np.testing.assert_array_equal(va.argsort(x, backend="cpu"), order)

    def reversed_ties(key_type, has_places, original=sorts.serial_sort):
        return original(key_type._replace(descending=not key_type.descending), has_places)

    monkeypatch.setattr(sorts, "serial_sort", reversed_ties)
    unstable = va.argsort(x, backend="cpu")[::-1]
    np.testing.assert_array_equal(x[unstable], x[order])
    assert not np.array_equal(unstable, order)


def test_a_lost_carry_between_blocks(monkeypatch):
    x = data("u4", 5000) & 0xFFFF
    wanted = np.cumsum(x, dtype=np.uint32)
    np.testing.assert_array_equal(va.cumsum(x, dtype=np.uint32, backend="cpu"), wanted)

    def record(graph, *parameters):
        with monkeypatch.context() as fault:
            fault.setattr(scans, "record_scan", lost)
            original(graph, *parameters)

    def lost(graph, reduction, sources, length, exclusive, is_wide):
        given = {f"x{n}": source for n, source in enumerate(sources)}
        grid = scans.with_grid(-(-length // scans.BLOCK))
        found = graph.dispatch(scans.block_scan(reduction, exclusive=exclusive), given, config=grid)
        return [found[f"s{n}"] for n in range(len(reduction.state))]

    original = scans._record_scan
    monkeypatch.setattr(scans, "_record_scan", record)
    found = va.cumsum(x, dtype=np.uint32, backend="cpu")
    np.testing.assert_array_equal(found[: scans.BLOCK], wanted[: scans.BLOCK])
    assert not np.array_equal(found, wanted)


def fresh_graphs():
    launches._recorded.cache_clear()
    launches._compiled.cache_clear()


def test_a_root_of_another_rounding(monkeypatch):
    x = data("f8", 64).astype("c16")
    right = va.fft(x, backend="cpu")
    table = spectra.root_table

    def other(length, dtype):
        return np.nextafter(table(length, dtype), 2)

    monkeypatch.setattr(spectra, "root_table", other)
    fresh_graphs()
    wrong = va.fft(x, backend="cpu")
    fresh_graphs()
    assert not np.array_equal(wrong, right)
    np.testing.assert_allclose(wrong, right, rtol=1e-12, atol=1e-12)
