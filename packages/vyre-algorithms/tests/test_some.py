"""Reductions of the elements of a mask, and with an initial value, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_data import data, same

import vyre_algorithms as va
from vyre_driver import backend_for, compile_graph
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.record import GraphRecorder
from vyre_foundation.dtype import f32

OPERATIONS = ("sum", "prod", "min", "max", "any", "all")
AXES = [None, 0, (0, 2), ()]


def mask_of(shape):
    mask = data("bool", shape, seed=5)
    mask[2] = False
    return mask


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_elements_of_a_mask(backend, operation, axis):
    x = data("i8", (4, 3, 20)) % 5
    mask = mask_of(x.shape)
    wanted, found = getattr(np, operation), getattr(va, operation)
    given = {"initial": 3} if operation in ("min", "max") else {}
    for keepdims in (False, True):
        keywords = {"where": mask, "keepdims": keepdims, **given}
        same(found(x, axis, backend=backend, **keywords), wanted(x, axis, **keywords))


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("operation", ["sum", "prod", "min", "max"])
def test_initial_values(backend, operation, axis):
    x = data("i8", (4, 3, 20)) % 5
    for initial in (0, -7, np.int64(7)):
        wanted = getattr(np, operation)(x, axis, initial=initial)
        same(getattr(va, operation)(x, axis, initial=initial, backend=backend), wanted)
        out = np.zeros(np.shape(wanted), "i8")
        assert getattr(va, operation)(x, axis, initial=initial, out=out, backend=backend) is out
        same(out, wanted)


@pytest.mark.parametrize("dtype", ["bool", "u1", "f2", "f4", "f8"])
def test_types(backend, dtype):
    x = data(dtype, (5, 9))
    mask = mask_of(x.shape)
    kept = np.where(mask, x, np.zeros((), dtype))
    same(va.sum(x, 1, where=mask, backend=backend), va.sum(kept, 1, backend=backend))
    same(va.prod(x, where=mask, backend=backend), va.prod(np.where(mask, x, np.ones((), dtype)), backend=backend))
    same(va.max(x, 0, where=mask, initial=1, backend=backend), np.max(x, 0, where=mask, initial=1))
    same(va.all(x, 0, where=mask, backend=backend), np.all(x, 0, where=mask))


def test_floats_are_rounded_once_more(backend):
    x = data("f4", 5000)
    same(va.sum(x, initial=0.1, backend=backend), va.sum(x, backend=backend) + np.float32(0.1))
    same(va.prod(1 + x / 1000, initial=3, backend=backend), va.prod(1 + x / 1000, backend=backend) * np.float32(3))
    same(va.sum(np.float32([-0.0]), where=np.array([False]), backend=backend), np.float32(0))
    same(va.max(np.float32([np.nan, 1]), initial=5, backend=backend), np.float32(np.nan))
    same(va.min(np.float32([0.0, 1]), initial=-0.0, backend=backend), np.float32(-0.0))
    same(va.sum(np.float32([np.inf, 1]), initial=-np.inf, backend=backend), np.float32(np.nan))


def test_no_elements(backend):
    x = np.zeros((0, 4), "f4")
    same(va.max(x, initial=3, backend=backend), np.float32(3))
    same(va.min(x, 0, initial=3, backend=backend), np.full(4, 3, "f4"))
    same(va.min(x, 1, initial=3, backend=backend), np.zeros(0, "f4"))
    same(va.sum(x, 0, initial=3, where=x > 0, backend=backend), np.full(4, 3, "f4"))
    out = np.zeros((1, 4), "f4")
    assert va.max(x, 0, initial=3, keepdims=True, out=out, backend=backend) is out
    same(out, np.full((1, 4), 3, "f4"))
    with pytest.raises(InvalidInput, match="at least one element for max"):
        va.max(x, backend=backend)


def test_ranges_of_a_graph():
    with GraphRecorder("some") as graph:
        x = graph.input("x", f32, 300)
        graph.output("y", va.max(x, where=data("bool", 300), initial=-9, keepdims=True))
    x = data("f4", 300)
    found = compile_graph(graph.build(), backend_for("cpu")).run({"x": x})["y"]
    same(found, np.max(x, where=data("bool", 300), initial=-9, keepdims=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.max(x, where=x > 0), "'where': got none, expected `initial` for max. Fix: pass what"),
        (lambda x: va.sum(x, where=x), "'where': got one of f32, expected an array of bools"),
        (lambda x: va.any(x, where=x[0] > 0), r"'where': got \(3,\), expected the shape \(2, 3\). Fix: .*broadcast_to"),
        (lambda x: va.sum(x, initial="1"), "'initial': got '1', expected a number"),
        (lambda x: va.max(x.astype("u1"), initial=300), "'initial': got 300, expected a number of u8"),
        (lambda x: va.sum(x, initial=1, out=np.zeros(3, "f4")), "'out': got"),
        (lambda x: va.sum(x, initial=1, axis=2), "'axis': got 2"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones((2, 3), "f4"))
