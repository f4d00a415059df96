"""What a target says it has is held against the code that is emitted for it, both ways."""

from dataclasses import replace
from typing import Any

import pytest

from vyre_conform.oracle.evaluators import EVALUATORS
from vyre_conform.worker import mechanisms
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Target
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.target import generous_target
from vyre_foundation.dtype import f32, i32, u32
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.validate import validate

SOME = frozenset({("clz", u32), ("min", f32), ("add", u32), ("rotl", u32)})
FEW = replace(
    generous_target(), name="few", atomics=frozenset({(AtomicOp.ADD, u32), (AtomicOp.MIN, i32)})
)  # fmt: skip


def lies(port: type[FakePort] = FakePort, target: Target = FEW) -> list[str]:
    backend = EngineBackend("fake", lambda: port(EVALUATORS["vector"], spelled=target))
    try:
        with backend.session() as device:
            return list(mechanisms.lies(device))
    finally:
        backend.shutdown()


def test_an_honest_device_has_what_it_says() -> None:
    assert lies() == []


def test_an_emitter_that_composes_what_it_claims_is_found() -> None:
    """It says that it counts zeros, and prints the composition."""

    class Composes(FakePort):
        def emit(self, lowered: Lowered) -> Any:
            if lowered.source.name == "has_clz_u32":
                lowered = lowered_for(replace(FEW, ops=FEW.ops - {("clz", u32)}), validate(lowered.source))
            return super().emit(lowered)

    assert lies(Composes) == ["clz of u32 is among what the device has, and its code is what is composed without it"]


def test_a_lowering_that_uses_what_is_denied_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels are those of a richer target."""
    monkeypatch.setattr(mechanisms, "lowered_for", lambda target, facts: lowered_for(generous_target(), facts))
    found = lies(target=replace(FEW, ops=SOME, atomics=frozenset()))
    assert found
    assert {words.partition(" of ")[2].partition(" ")[2] for words in found} == {
        "is in the code and not among what the device has"
    }
