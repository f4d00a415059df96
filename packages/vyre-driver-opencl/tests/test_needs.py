"""Proofs on demand: a program runs after the device has shown what the program uses, and nothing else is asked."""

from dataclasses import replace

import numpy as np
import pytest

from vyre_driver.errors import UnsupportedFeature
from vyre_driver_opencl import opened
from vyre_driver_opencl.backend import OpenClBackend
from vyre_driver_opencl.facts import DeviceFacts
from vyre_driver_opencl.needs import Group, groups_of
from vyre_driver_opencl.opened import open_device
from vyre_driver_opencl.probe import Proven, assumed
from vyre_driver_opencl.proof import device as proof
from vyre_foundation import Program, f32, f64, program, u32
from vyre_foundation.functions import floor, sqrt
from vyre_foundation.ir.stmt import AtomicOp


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> dict[int, DeviceFacts]:
    """A process in which no device has shown anything, and no process before it."""
    monkeypatch.setenv("VYRE_CACHE", "off")
    facts: dict[int, DeviceFacts] = {}
    monkeypatch.setattr(opened, "_facts", facts)
    return facts


def known(facts: dict[int, DeviceFacts]) -> Proven:
    (only,) = facts.values()
    return only.proven


def xor() -> Program:
    with program("xor", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] ^ 5
    return p.build()


def root(t: object) -> Program:
    with program("root", workgroup_size=64) as p:
        x = p.read("x", t)  # type: ignore[arg-type]
        out = p.write("out", t, like=x)  # type: ignore[arg-type]
        out[p.global_id(0)] = sqrt(x[p.global_id(0)])
    return p.build()


def count() -> Program:
    with program("count", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.read_write("out", u32, 1)
        out.atomic_add(0, x[p.global_id(0)])
    return p.build()


def test_a_program_asks_for_what_it_uses(backend_id: str, fresh: dict[int, DeviceFacts]) -> None:
    backend = OpenClBackend(backend_id)
    x = np.arange(100, dtype=np.uint32)
    assert bytes(backend.dispatch(xor(), [x])[0]) == (x ^ 5).tobytes()
    at_first = known(fresh).shown
    assert {f32, ("add", f32), ("uncontracted", f32)} <= at_first
    assert not at_first & {("sqrt", f32), Group.ATOMICS, Group.SUBGROUPS, ("popcount", u32)}
    backend.dispatch(root(f32), [np.ones(5, np.float32)])
    assert ("sqrt", f32) in known(fresh).shown
    assert Group.ATOMICS not in known(fresh).shown
    backend.dispatch(count(), [x, np.zeros(1, np.uint32)])
    assert Group.ATOMICS in known(fresh).shown


def test_questions_about_capabilities_prove_everything(backend_id: str, fresh: dict[int, DeviceFacts]) -> None:
    backend = OpenClBackend(backend_id)
    profile = backend.device_profile()
    proven, reported = known(fresh), open_device(backend_id).reported
    first = assumed(reported)
    assert {*first.ops, *first.casts, *first.floats, *groups_of(reported)} <= proven.shown
    assert profile.supports_f64 == (f64 in proven.floats)


def test_a_refuted_row_is_never_used(
    backend_id: str, fresh: dict[int, DeviceFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first spelling of a row that is wrong costs another lowering, not a wrong result."""
    wrong = {f32: {**proof.FLOAT_OPS[f32], ("floor", f32): ("({0} + 1.0f)", "floor({0})")}}
    monkeypatch.setattr(proof, "FLOAT_OPS", proof.FLOAT_OPS | wrong)
    backend = OpenClBackend(backend_id)
    with program("floor", workgroup_size=64) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        out[p.global_id(0)] = floor(x[p.global_id(0)])
    data = np.array([0.5, -0.5, 7.0], np.float32)
    device = open_device(backend_id)
    (facts,) = fresh.values()
    facts._take(replace(facts.proven, ops={**facts.proven.ops, ("floor", f32): "({0} + 1.0f)"}))
    assert device.dialect.ops["floor", f32] == "({0} + 1.0f)"
    assert bytes(backend.dispatch(p.build(), [data])[0]) == np.floor(data).tobytes()
    assert known(fresh).ops["floor", f32] == "floor({0})"


def test_a_refuted_type_is_refused(
    backend_id: str, fresh: dict[int, DeviceFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that reports f64 and computes it wrongly does not have f64, and other programs do not suffer."""
    if not open_device(backend_id).reported.f64:
        pytest.skip("the device reports no f64")
    wrong = {f64: {**proof.FLOAT_OPS[f64], ("add", f64): ("({0} - {1})",)}}
    monkeypatch.setattr(proof, "FLOAT_OPS", proof.FLOAT_OPS | wrong)
    backend = OpenClBackend(backend_id)
    with pytest.raises(UnsupportedFeature, match="f64"):
        backend.dispatch(root(f64), [np.ones(5)])
    assert not backend.device_profile().supports_f64
    assert np.frombuffer(backend.dispatch(root(f32), [np.full(5, 4, np.float32)])[0], np.float32).tolist() == [2.0] * 5


def test_wrong_atomics_are_found_before_they_run(
    backend_id: str, fresh: dict[int, DeviceFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = OpenClBackend(backend_id)
    backend.dispatch(xor(), [np.arange(100, dtype=np.uint32)])
    (facts,) = fresh.values()
    swapped = {**facts.proven.atomics, (AtomicOp.ADD, u32): facts.proven.atomics[AtomicOp.XOR, u32]}
    facts._take(replace(facts.proven, atomics=swapped))
    x = np.arange(100, dtype=np.uint32)
    with pytest.raises(UnsupportedFeature, match="atomic"):
        backend.dispatch(count(), [x, np.zeros(1, np.uint32)])


def test_what_is_shown_is_stored(
    backend_id: str, fresh: dict[int, DeviceFacts], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("VYRE_CACHE", "rw")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path))
    backend = OpenClBackend(backend_id)
    backend.dispatch(root(f32), [np.ones(5, np.float32)])
    before = known(fresh)
    fresh.clear()
    monkeypatch.setattr(proof, "prove_device", None)
    open_device(backend_id)
    assert known(fresh) == before
