"""Waves over resident memory: nothing waits for a launch but what reads its results."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, ResidentWave
from vyre_driver.errors import DispatchFailed, Trapped
from vyre_driver.testing.fake_port import InjectedError

from .programs import A, Engine, UseLowering, double, doubling, trap_if_odd, with_traps


class Chunks:
    """As many waves, each of which doubles an array in memory of its own."""

    def __init__(self, made: SimpleNamespace, count: int) -> None:
        self.backend = made.backend
        source = doubling()
        self.targets = [np.zeros(5, np.uint32) for _ in range(count)]
        self.waves = []
        for number, target in enumerate(self.targets):
            given, out = (self.backend.allocate_resident(20) for _ in "ab")
            step = ResidentDispatchStep(program=source, resources=(given, out))
            part = ResidentReadRange(resource=out, byte_offset=0, byte_len=20)
            self.waves.append(
                ResidentWave(uploads=[(given, A + number)], steps=[step], ranges=[part], targets=[target])
            )
        self.port = made.ports[0]

    def run(self) -> None:
        self.backend.dispatch_resident_waves(self.waves)


def test_uploads_and_readbacks_are_beside_launches(engine: Engine) -> None:
    """A wave is read when two more are enqueued."""
    chunks = Chunks(engine(double, is_lazy=True), 4)
    chunks.run()
    before = chunks.backend.backend_metric_snapshot()
    chunks.port.log.clear()
    chunks.run()
    calls = [call for call in chunks.port.log if call in ("copy_in", "launch", "wait", "copy_out")]
    enqueued, read = ["copy_in", "launch"], ["wait", "copy_out"]
    assert calls == [*enqueued, *enqueued, *enqueued, *read, *enqueued, *read, *read, *read, "wait"]
    after = chunks.backend.backend_metric_snapshot()
    assert after["copies_beside"] - before["copies_beside"] == 6  # uploads but the first, readbacks but the last
    assert after["prepares"] == before["prepares"]
    for number, target in enumerate(chunks.targets):
        np.testing.assert_array_equal(target, 2 * (A + number))


def test_waves_without_steps_or_readbacks(engine: Engine) -> None:
    chunks = Chunks(engine(double), 2)
    given, out = chunks.waves[0].steps[0].resources
    alone = ResidentWave(uploads=[(given, A)])
    chunks.backend.dispatch_resident_waves([])
    chunks.backend.dispatch_resident_waves([alone, ResidentWave(steps=chunks.waves[0].steps), chunks.waves[1]])
    np.testing.assert_array_equal(np.frombuffer(chunks.backend.download_resident(out), np.uint32), 2 * A)
    np.testing.assert_array_equal(chunks.targets[1], 2 * (A + 1))


def test_the_first_trap_is_raised_with_its_step(engine: Engine, lowering: UseLowering) -> None:
    lowering(with_traps)
    chunks = Chunks(engine(trap_if_odd), 4)
    with pytest.raises(Trapped) as caught:
        chunks.run()
    assert caught.value.step == 1  # and not 3
    first = ResidentWave(uploads=[(chunks.waves[0].uploads[0][0], A + 1)], steps=chunks.waves[0].steps)
    with pytest.raises(Trapped) as caught:
        chunks.backend.dispatch_resident_waves([first, *chunks.waves[1:]])
    assert caught.value.step == 0


def test_a_failure_leaves_nothing(engine: Engine) -> None:
    chunks = Chunks(engine(double, faults=[InjectedError("launch", DispatchFailed("once", backend="fake"), 3)]), 4)
    with pytest.raises(DispatchFailed):
        chunks.run()
    chunks.run()
    for number, target in enumerate(chunks.targets):
        np.testing.assert_array_equal(target, 2 * (A + number))
