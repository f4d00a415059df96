"""Ids in one, two and three dimensions, workgroups of odd shapes, grids, indirect dispatch."""

import math

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Extent
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import BackendError, UnsupportedFeature
from vyre_driver_opencl.backend import OpenClBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.program import Program

IDS = ("global_id", "local_id", "workgroup_id", "num_workgroups")


def ids_program(size: Extent) -> Program:
    """Each invocation writes its twelve coordinates at its linear id."""
    with program("ids", workgroup_size=size) as p:
        out = p.write("out", u32, 12 * 2000)
        extent = [p.num_workgroups(axis) * size[axis] for axis in range(3)]
        linear = (p.global_id(2) * extent[1] + p.global_id(1)) * extent[0] + p.global_id(0)
        for number, kind in enumerate(IDS):
            for axis in range(3):
                out[linear * 12 + 3 * number + axis] = getattr(p, kind)(axis)
    return p.build()


@pytest.mark.parametrize(
    ("size", "grid"),
    [
        ((1, 1, 1), (1, 1, 1)),
        ((64, 1, 1), (3, 1, 1)),
        ((5, 3, 1), (2, 4, 1)),
        ((3, 2, 4), (2, 3, 2)),
        ((1, 7, 1), (4, 1, 3)),
        ((1, 1, 9), (1, 2, 5)),
    ],
)
def test_every_coordinate(backend: VyreBackend, size: Extent, grid: Extent) -> None:
    (got,) = backend.dispatch(ids_program(size), [], DispatchConfig(grid_override=grid))
    table = np.frombuffer(got, np.uint32).reshape(-1, 12)
    expected = np.zeros_like(table)
    shape = [g * s for g, s in zip(grid, size, strict=True)]
    for linear in range(shape[0] * shape[1] * shape[2]):
        x, y, z = linear % shape[0], linear // shape[0] % shape[1], linear // (shape[0] * shape[1])
        position = (x, y, z)
        expected[linear] = [
            *position,
            *(c % s for c, s in zip(position, size, strict=True)),
            *(c // s for c, s in zip(position, size, strict=True)),
            *grid,
        ]
    assert (table == expected).all()


def test_the_workgroup_of_the_program_may_be_overridden(backend: VyreBackend) -> None:
    config = DispatchConfig(grid_override=(2, 1, 1), workgroup_override=(8, 2, 1))
    with program("shape", workgroup_size=64) as p:
        out = p.write("out", u32, 1000)
        out[p.global_id(0) + p.global_id(1) * 100] = p.local_id(0) + p.local_id(1) * 10 + 1
    (got,) = backend.dispatch(p.build(), [], config)
    expected = np.zeros(1000, np.uint32)
    for y in range(2):
        for x in range(16):
            expected[y * 100 + x] = x % 8 + y * 10 + 1
    assert np.frombuffer(got, np.uint32).tolist() == expected.tolist()


@pytest.mark.parametrize("grid", [(0, 1, 1), (3, 0, 2), (1, 1, 0)])
def test_a_grid_of_nothing_runs_nothing(backend: VyreBackend, grid: Extent) -> None:
    (got,) = backend.dispatch(ids_program((4, 1, 1)), [], DispatchConfig(grid_override=grid))
    assert not np.frombuffer(got, np.uint32).any()


def indirect_program() -> Program:
    with program("indirect", workgroup_size=4) as p:
        grid = p.read("grid", u32)
        p.indirect_dispatch(grid, 1)
        out = p.write("out", u32, 4)
        out.atomic_add(p.workgroup_id(0), 1)
        out.atomic_max(3, p.num_workgroups(1))
    return p.build()


def test_the_grid_comes_from_a_buffer(backend: VyreBackend) -> None:
    (got,) = backend.dispatch(indirect_program(), [np.array([9, 3, 2, 1], np.uint32)])
    assert np.frombuffer(got, np.uint32).tolist() == [8, 8, 8, 2]
    (got,) = backend.dispatch(indirect_program(), [np.array([9, 1, 0, 1], np.uint32)])
    assert np.frombuffer(got, np.uint32).tolist() == [0, 0, 0, 0]


def test_a_buffer_that_is_too_short_for_a_grid_is_refused(backend: VyreBackend) -> None:
    with pytest.raises(BackendError, match="Fix: "):
        backend.dispatch(indirect_program(), [np.array([9, 3, 2], np.uint32)])


def test_more_than_the_device_has_is_refused(backend: VyreBackend) -> None:
    with program("greedy", workgroup_size=1) as p:
        scratch, out = p.scratch("scratch", u64, 2**32 - 1), p.write("out", u64, 1)
        scratch[0] = 1
        out[0] = scratch[0]
    most = backend.max_storage_buffer_bytes()
    with pytest.raises(UnsupportedFeature, match=f"34359738360 bytes in buffer 'scratch' .at most {most}"):
        backend.dispatch(p.build(), [])


@pytest.mark.parametrize("grid", [(2**16, 2**16, 1), (2**21, 2**11, 1)])
def test_too_many_workgroups_are_refused(backend_id: str, grid: tuple[int, int, int]) -> None:
    """PoCL ends the process where their number wraps around in 32 bits."""
    backend = OpenClBackend(backend_id)
    with program("grid", workgroup_size=1) as p:
        out = p.write("out", u32, 1)
        with p.if_(p.global_id(0) + p.global_id(1) == 0):
            out[0] = 1
    with pytest.raises(UnsupportedFeature, match=f"a launch of {math.prod(grid)} workgroups.*Fix: dispatch at most"):
        backend.dispatch(p.build(), [], DispatchConfig(grid_override=grid))
