"""The proof that a device computes as its table says, with tables that lie."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from cuda_emulation import port as emulated
from cuda_emulation.port import EmulatedPort

from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda import facts
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.proof import faults, wrong_atomics, wrong_collectives, wrong_grid_barriers, wrong_ops
from vyre_foundation.dtype import DType, f32, u32
from vyre_foundation.ir.stmt import AtomicOp, Scope


@pytest.fixture
def port() -> EmulatedPort:
    return EmulatedPort(Architecture.parse("sm_90"))


def test_a_sound_table_has_no_fault(port: EmulatedPort) -> None:
    assert faults(port) == ()


@pytest.mark.parametrize(
    ("t", "op", "text"),
    [
        (f32, "mul", "({0} * {1} * 1.0000001f)"),
        (f32, "sqrt", "({0} < 0x1p-126f ? 0.0f : __fsqrt_rn({0}))"),
        (f32, "round", "floorf({0} + 0.5f)"),
        (u32, "clz", "((u32)__builtin_clz({0} | 1u))"),
    ],
)
def test_a_word_that_means_something_else_is_found(port: EmulatedPort, t: DType, op: str, text: str) -> None:
    port._dialect = replace(port._dialect, ops={**port._dialect.ops, (op, t): text})
    assert next(wrong_ops(port, t)) == f"{op} {t}"


def test_contraction_is_found(port: EmulatedPort, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that makes one rounding of a product and a sum."""
    build, contracted = emulated.build, re.compile(r"\((t\d*) \* (t\d*)\) \+ (t\d*)")
    monkeypatch.setattr(
        emulated, "build", lambda text, kernels: build(contracted.sub(r"__fmaf_rn(\1, \2, \3)", text), kernels)
    )
    assert list(wrong_ops(port, f32)) == ["two roundings of a product and a sum, f32"]


def test_a_wrong_atomic_is_found(port: EmulatedPort) -> None:
    lie = {(AtomicOp.MAX, u32): "atomicMin(&{0}, {1})"}
    port._dialect = replace(port._dialect, atomics={**port._dialect.atomics, **lie})
    assert list(wrong_atomics(port)) == ["atomic max u32", "atomics of many lanes u32"]


def test_a_wrong_collective_is_found(port: EmulatedPort, monkeypatch: pytest.MonkeyPatch) -> None:
    build = emulated.build
    monkeypatch.setattr(
        emulated, "build", lambda text, kernels: build(text.replace("__shfl_xor_sync", "__shfl_sync"), kernels)
    )
    assert "shuffle_xor of 32 lanes" in list(wrong_collectives(port))


def test_a_barrier_that_orders_no_blocks_is_found(port: EmulatedPort) -> None:
    assert list(wrong_grid_barriers(port)) == []
    port._dialect = replace(port._dialect, barriers=dict.fromkeys(Scope, "__syncthreads();"))
    assert list(wrong_grid_barriers(port)) == ["grid barrier"]


def test_a_device_with_faults_is_refused(port: EmulatedPort, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[str, ...]] = [(), ("neg f32", "clz u32"), ("grid barrier",)]
    monkeypatch.setattr(facts, "shared_store", lambda: None)
    monkeypatch.setattr(facts, "faults", lambda port: found.pop(0))
    profile = DeviceProfile(backend="cuda", device="a GPU")
    assert facts.require_sound(port, profile)
    with pytest.raises(BackendUnavailable, match=r"'a GPU' does not compute as defined \(wrong: neg f32, clz u32\)"):
        facts.require_sound(port, profile)
    assert not facts.require_sound(port, profile)  # launches can end at barriers instead


def test_the_answer_is_kept() -> None:
    assert facts.from_bytes(facts.to_bytes(("add f32", "clz u32"))) == ("add f32", "clz u32")
