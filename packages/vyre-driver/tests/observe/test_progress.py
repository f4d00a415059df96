"""Progress goes to the watcher of the context, and to nobody without one."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.engine.backend import EngineBackend
from vyre_driver.observe.progress import progress, watching
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.tune.race import race
from vyre_foundation import program, u32
from vyre_foundation.ir.program import Program


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, what: str, total: int) -> str:
        self.lines.append(f"{what}: {total}")
        return what

    def advance(self, task: str, steps: int) -> None:
        self.lines.append(f"{task} +{steps}")

    def end(self, task: str) -> None:
        self.lines.append(f"{task}.")


def adding(number: int) -> Program:
    with program(f"adding {number}", workgroup_size=64) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)] + number
    return p.build()


def test_the_watcher_of_the_context_is_told() -> None:
    log = Log()
    with watching(log), progress("work", 3) as done:
        done(1)
        done(2)
    with progress("unseen", 1) as done:
        done(1)
    assert log.lines == ["work: 3", "work +1", "work +2", "work."]


def test_work_that_fails_is_over_too() -> None:
    log = Log()
    with pytest.raises(ValueError, match="odd"), watching(log), progress("work", 3):
        raise ValueError("odd")
    assert log.lines == ["work: 3", "work."]


def test_compiling_is_told_once_and_a_warm_dispatch_tells_nothing() -> None:
    log, backend = Log(), EngineBackend("fake", lambda: FakePort(lambda plan, memory: None))
    words, made = np.zeros(64, np.uint32), adding(1)
    with watching(log):
        backend.dispatch(made, [words])
        backend.dispatch(made, [words])
        assert log.lines == ["compile adding 1: 1", "compile adding 1 +1", "compile adding 1."]
        log.lines.clear()
        backend.precompile([adding(n) for n in range(2, 14)])
    assert log.lines == ["compile: 12", "compile +10", "compile +2", "compile."]
    backend.shutdown()


def test_a_race_tells_its_rounds() -> None:
    log = Log()
    with watching(log):
        race([lambda: 1.0, lambda: 1.0], max_samples=2)
    assert log.lines == ["time 2 candidates: 2", *["time 2 candidates +1"] * 2, "time 2 candidates."]
