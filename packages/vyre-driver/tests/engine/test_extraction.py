"""Variants of programs are equal, and the one that a device runs fastest is launched there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

import vyre_reference
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.tune.extraction import ExtractionDevice, extract_best_for_device, extract_best_for_devices
from vyre_driver.tune.variants import BACKWARDS, variants_of
from vyre_foundation import Program, f32, i32, program, select, u32
from vyre_foundation.functions import abs as magnitude, max as greatest, min as least
from vyre_foundation.ir.expr import Select
from vyre_reference import ReferenceBackend

EDGES = [0, 1, 2, 3, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 0x7F800000, 0x7FC00000, 0xFF800000, 0x3F800000]
A = np.array([a for a in EDGES for _ in EDGES], np.uint32)
B = np.array(EDGES * len(EDGES), np.uint32)


def smallest() -> Program:
    with program("smallest", 4) as p:
        a, b = p.read("a", i32), p.read("b", i32)
        p.write("out", i32, like=a)[p.global_id(0)] = least(a[p.global_id(0)], b[p.global_id(0)])
    return p.build()


def arithmetic() -> Program:
    with program("arithmetic", 4) as p:
        a, b = p.read("a", i32), p.read("b", i32)
        out, words, floats = p.write("out", i32, like=a), p.write("words", u32, like=a), p.write("floats", f32, like=a)
        i = p.global_id(0)
        x, y = p.let(a[i]), p.let(b[i])
        u, v = x.bitcast(u32), y.bitcast(u32)
        f, g = x.bitcast(f32), y.bitcast(f32)
        total = p.var(0, i32)
        with p.range(0, 3) as k:
            total.set(total * 3 + magnitude(x - y) + greatest(x, y + k.cast(i32)) - least(-x, y))
        out[i] = total + select((x < y) & (y != 7), x ^ y, -(x - y))
        words[i] = (u & ~v) ^ ((u | v) - (~u & v))
        floats[i] = select(f <= g, f - g, -(f * g))
    return p.build()


@pytest.mark.parametrize("make", [smallest, arithmetic])
def test_every_variant_gives_the_same_bytes(make: object) -> None:
    assert callable(make)
    found: Program = make()
    inputs = {"a": A.view(np.int32), "b": B.view(np.int32)}
    expected = {name: array.tobytes() for name, array in vyre_reference.run(found, inputs).items()}
    variants = variants_of(found)
    assert variants
    for name, variant in variants.items():
        made = {n: array.tobytes() for n, array in vyre_reference.run(variant, inputs).items()}
        assert made == expected, name
        assert variant != found


def test_rules_go_backwards_only_where_they_hold_without_conditions() -> None:
    assert "min(x, y) as select(x < y, x, y), integers" in BACKWARDS
    assert all(not rule.where for rule in BACKWARDS.values())
    assert len(variants_of(arithmetic())) >= 8


class Machine:
    """Takes the lesser of two, slowly but for a `select`; `wrong` computes something else then."""

    def __init__(self) -> None:
        self.wrong, self.selects = False, list[bool]()

    def evaluate(self, plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
        is_select = bool(plan.program.code.of(Select))
        self.selects.append(is_select)
        if not is_select:
            time.sleep(0.001)
        a, b, out = (np.frombuffer(memory[name], np.int32) for name in ("a", "b", "out"))
        out[:] = np.minimum(a, b) + (is_select and self.wrong)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def backend(machine: Machine) -> Iterator[EngineBackend]:
    made = EngineBackend("fake", lambda: FakePort(machine.evaluate))
    yield made
    made.shutdown()


INPUTS = {"a": A.view(np.int32), "b": B.view(np.int32)}


def test_the_fastest_variant_is_launched_from_now_on(backend: EngineBackend, machine: Machine) -> None:
    found = extract_best_for_device(smallest(), ExtractionDevice(backend, INPUTS))
    assert found.variant.startswith("min(x, y) as select(")
    assert found.program.code.of(Select)
    machine.selects.clear()
    (out,) = backend.dispatch(smallest(), list(INPUTS.values()))
    assert machine.selects == [True]
    assert bytes(out) == np.minimum(*INPUTS.values()).tobytes()
    backend.dispatch(smallest(), [INPUTS["a"][:4], INPUTS["b"][:4]])
    assert machine.selects == [True, False]


def test_a_variant_with_other_bytes_is_refused(backend: EngineBackend, machine: Machine) -> None:
    machine.wrong = True
    found = extract_best_for_device(smallest(), ExtractionDevice(backend, INPUTS))
    assert found.variant == ""
    assert found.program == smallest()
    assert {t.verdict for t in found.trials if "select" in t.choice.variant} == {"refused: its outputs are other bytes"}
    assert backend.launch_choice(smallest(), [A.nbytes, B.nbytes]) is None


def test_the_program_itself_is_optimized_as_before(backend: EngineBackend) -> None:
    extract_best_for_device(smallest(), ExtractionDevice(backend, INPUTS))
    with backend.session() as device:
        assert device.final
        assert smallest().fingerprint() not in device.final


def test_each_device_has_its_own(backend: EngineBackend, machine: Machine) -> None:
    slow = EngineBackend("slow", lambda: FakePort(Machine().evaluate))
    devices = [ExtractionDevice(backend, INPUTS), ExtractionDevice(slow, INPUTS)]
    assert [bool(found.variant) for found in extract_best_for_devices(smallest(), devices)] == [True, True]
    slow.shutdown()


def test_a_backend_without_an_engine_says_so() -> None:
    with pytest.raises(UnsupportedFeature, match="extraction of variants"):
        extract_best_for_device(smallest(), ExtractionDevice(ReferenceBackend(), INPUTS))
