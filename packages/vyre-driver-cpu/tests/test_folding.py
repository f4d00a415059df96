"""Grids that a device cannot launch on y or z run on x: on this device with made-up limits, beside the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.plan.admission import validate_program_for_backend
from vyre_driver_cpu.backend import CpuBackend
from vyre_driver_cpu.port import CpuPort
from vyre_foundation import Program, program, u32
from vyre_reference import ReferenceBackend

LIMITS: Extent = (100_000, 5, 5)


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[CpuBackend]:
    probe = CpuPort.probe

    def limited(port: CpuPort) -> DeviceProfile:
        return replace(probe(port), max_workgroups=LIMITS)

    monkeypatch.setattr(CpuPort, "probe", limited)
    opened = CpuBackend()
    yield opened
    opened.shutdown()


def image(size: Extent) -> Program:
    """A stencil with the workgroup's sum in shared memory beside it."""
    with program("image", size) as p:
        x = p.read("x", u32)
        out, sums = p.write("out", u32, like=x), p.write("sums", u32, like=x)
        shared = p.workgroup("shared", u32, 1)
        width = p.let(p.num_workgroups(0) * size[0])
        height = p.let(p.num_workgroups(1) * size[1])
        at = p.let((p.global_id(2) * height + p.global_id(1)) * width + p.global_id(0))
        shared.atomic_add(0, x[at])
        p.barrier()
        out[at] = x[at] * 3 + x[at + width] + p.global_id(1)
        sums[at] = shared[0]
    return p.build()


@pytest.mark.parametrize("grid", [(3, 7, 1), (1, 6, 2), (2, 3, 9), (5, 5, 5)])
def test_a_folded_launch_gives_the_bytes_of_the_reference(
    backend: CpuBackend, grid: Extent, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, count = image((4, 2, 1)), int(np.prod(grid)) * 8
    x = np.random.default_rng(1).integers(0, 2**32, count, dtype=np.uint32)
    launched: list[Any] = []
    runner = CpuPort.runner

    def seen(port: CpuPort, module: Any, kernel: str, launched_on: Extent, *given: Any, **options: Any) -> Any:
        launched.append(launched_on)
        return runner(port, module, kernel, launched_on, *given, **options)

    monkeypatch.setattr(CpuPort, "runner", seen)
    config = DispatchConfig(grid_override=grid)
    expected = ReferenceBackend().dispatch(made, [x], config)
    for _ in range(3):
        assert backend.dispatch(made, [x], config) == expected
    assert all(y == z == 1 for _, y, z in launched) == (grid != (5, 5, 5))


def test_every_way_in_agrees(backend: CpuBackend) -> None:
    made, x = image((4, 2, 1)), np.zeros(16, np.uint32)
    fits, too_many = DispatchConfig(grid_override=(1, 6, 1)), DispatchConfig(grid_override=(50_000, 6, 1))
    assert validate_program_for_backend(backend, made, fits)
    for ask in (
        lambda: validate_program_for_backend(backend, made, too_many),
        lambda: backend.dispatch(made, [x], too_many),
    ):
        with pytest.raises(UnsupportedFeature, match=r"6 workgroups on y \(at most 5\)"):
            ask()
