"""An engine over a fake port. Programs are launched as they are written: lowering has tests of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.engine import lowering as engine_lowering
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.legalization.lowered import Kernel, Lowered
from vyre_driver.legalization.schedule import KernelLaunch
from vyre_driver.legalization.target import Target
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.evaluate import Evaluate
from vyre_driver.testing.fake_port import FakePort
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Facts

Arrays = Mapping[str, np.ndarray[Any, Any]]


def as_written(program: Program, facts: Facts, target: Target, arrangement: object = None) -> Lowered:
    bound = tuple(b for b in program.buffers if b.memory.is_bound)
    kernel = Kernel(program.name, program, tuple(b.name for b in bound))
    return Lowered(source=program, kernels=(kernel,), schedule=(KernelLaunch(0),), buffers={b.name: b for b in bound})


@pytest.fixture(autouse=True)
def lowering(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Lowered]], None]:
    """Replace legalization; a test may ask for another one."""

    def use(legalize: Callable[..., Lowered]) -> None:
        monkeypatch.setattr(engine_lowering, "legalize", lambda *given, watch=None: legalize(*given))

    use(as_written)
    return use


def over_arrays(compute: Callable[[Arrays], None]) -> Evaluate:
    """An evaluator that sees every buffer as an array of its type."""

    def evaluate(plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
        declared = {b.name: np.dtype(b.dtype.numpy) for b in plan.program.buffers}
        compute({name: np.frombuffer(view, declared[name]) for name, view in memory.items()})

    return evaluate


@pytest.fixture
def engine() -> Iterator[Callable[..., SimpleNamespace]]:
    """Make (backend, port, ports) from a function over arrays by name; afterwards nothing may be left anywhere."""
    made: list[SimpleNamespace] = []

    def make(compute: Callable[[Arrays], None] = lambda arrays: None, **options: Any) -> SimpleNamespace:
        ports: list[FakePort] = []

        def open_port() -> FakePort:
            ports.append(FakePort(over_arrays(compute), **options))
            return ports[-1]

        made.append(SimpleNamespace(backend=EngineBackend("fake", open_port), ports=ports))
        return made[-1]

    yield make
    for one in made:
        one.backend.shutdown()
        assert all(port.is_closed and not port.live for port in one.ports)
        counts = one.backend.backend_metric_snapshot()
        assert counts["allocations"] == counts["frees"]
        assert counts["bytes_allocated"] == counts["bytes_freed"]
