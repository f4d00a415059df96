"""A trap fails the dispatch with the lowest invocation, its first trap, its tag and code; there are no outputs."""

from collections.abc import Callable
from linecache import getline

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentDispatchStep, Resource
from vyre_driver.errors import Trapped
from vyre_driver.pipeline.compile import compile
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program


def checked() -> Program:
    with program("checked", workgroup_size=(4, 2)) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(1) * 4 * p.num_workgroups(0) + p.global_id(0)
        with p.if_(a[i] > 100):
            p.trap(a[i], "too large")
        with p.if_(a[i] % 2 == 1):
            p.trap(a[i] + 1000, "odd")
        p.barrier()
        out[i] = a[i]
    return p.build()


CONFIG = DispatchConfig(grid_override=(2, 2, 1))


def test_no_trap_is_no_error(backend: VyreBackend) -> None:
    given = np.arange(0, 64, 2, dtype=np.uint32)
    (got,) = backend.dispatch(checked(), [given], CONFIG)
    assert bytes(got) == given.tobytes()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({31: 7}, ("odd", 1007, 31)),
        ({31: 7, 5: 200}, ("too large", 200, 5)),
        ({31: 7, 5: 201}, ("too large", 201, 5)),
        ({8: 1, 7: 3, 20: 500}, ("odd", 1003, 7)),
        ({0: 2**32 - 2}, ("too large", 2**32 - 2, 0)),
    ],
)
def test_the_lowest_invocation_is_reported(
    backend: VyreBackend, values: dict[int, int], expected: tuple[str, int, int]
) -> None:
    given = np.zeros(32, np.uint32)
    for position, value in values.items():
        given[position] = value
    with pytest.raises(Trapped) as caught:
        backend.dispatch(checked(), [given], CONFIG)
    trap = caught.value
    assert (trap.tag, trap.trap_code, trap.invocation) == expected


def test_the_backend_goes_on_after_a_trap(backend: VyreBackend) -> None:
    with pytest.raises(Trapped):
        backend.dispatch(checked(), [np.full(32, 101, np.uint32)], CONFIG)
    test_no_trap_is_no_error(backend)


def test_traps_of_every_kernel_of_a_split_program(backend: VyreBackend) -> None:
    with program("late", workgroup_size=4) as p:
        a, out, cells = p.read("a", u32), p.write("out", u32, 8), p.scratch("cells", u32, 8)
        cells[p.global_id(0)] = a[p.global_id(0)]
        p.grid_barrier()
        out[p.global_id(0)] = 1
        with p.if_(cells[7 - p.global_id(0)] == 9):
            p.trap(p.global_id(0), "nine")
    with pytest.raises(Trapped, match="invocation 2 trapped with 'nine', code 2"):
        backend.dispatch(p.build(), [np.array([0, 0, 0, 9, 0, 9, 0, 0], np.uint32)])


def test_the_lines_of_all_traps_with_the_tag_are_named(backend: VyreBackend) -> None:
    """The optimizer may copy and remove traps, so the device knows the tag alone."""
    with program("lines", workgroup_size=4) as p:
        a, out = p.read("a", u32), p.write("out", u32, 4)
        i = p.global_id(0)
        with p.if_(a[i] > 7):
            p.trap(1, "large")
        with p.if_(a[i] == 3):
            p.trap(2, "three")
        with p.if_(a[i] > 9):
            p.trap(3, "large")
        out[i] = a[i]
    built = p.build()
    with pytest.raises(Trapped) as large:
        backend.dispatch(built, [np.array([0, 10, 0, 0], np.uint32)])
    with pytest.raises(Trapped) as three:
        backend.dispatch(built, [np.array([0, 0, 0, 3], np.uint32)])
    assert ["large" in getline(*origin) for origin in large.value.origins] == [True, True]
    (origin,) = three.value.origins
    assert 'p.trap(2, "three")' in getline(*origin)
    assert f"trapped with 'three', code 2, at {__file__}:{origin.line}. Fix: " in str(three.value)


def by_dispatch(backend: VyreBackend, source: Program, given: Resource, out: Resource) -> None:
    backend.dispatch(source, [np.array([9], np.uint32)])


def by_pipeline(backend: VyreBackend, source: Program, given: Resource, out: Resource) -> None:
    compile(backend, source).dispatch([np.array([9], np.uint32)])


def by_resident(backend: VyreBackend, source: Program, given: Resource, out: Resource) -> None:
    backend.dispatch_resident_timed(source, [given, out])


def by_sequence(backend: VyreBackend, source: Program, given: Resource, out: Resource) -> None:
    step = ResidentDispatchStep(program=source, resources=(given, out))
    backend.dispatch_resident_sequence_read_ranges_into([step, step], [], [])


@pytest.mark.parametrize("way", [by_dispatch, by_pipeline, by_resident, by_sequence])
def test_the_lines_are_those_of_the_program_that_was_dispatched(
    backend: VyreBackend, way: Callable[[VyreBackend, Program, Resource, Resource], None]
) -> None:
    """Equal programs have one code, and lines of their own."""
    first, second = large(), large_elsewhere()
    assert first == second
    given, out = (backend.allocate_resident(4) for _ in range(2))
    backend.upload_resident(given, np.array([9], np.uint32))
    lines = []
    for source in (first, second, first):
        with pytest.raises(Trapped) as caught:
            way(backend, source, given, out)
        lines += [getline(origin.file, origin.line).strip() for origin in caught.value.origins]
    assert lines == ['p.trap(1, "large")', 'p.trap(1, "large")  # elsewhere', 'p.trap(1, "large")']


def large() -> Program:
    with program("large", workgroup_size=1) as p:
        a, out = p.read("a", u32), p.write("out", u32, 1)
        out[0] = a[0]
        with p.if_(a[0] > 7):
            p.trap(1, "large")
    return p.build()


def large_elsewhere() -> Program:
    with program("large", workgroup_size=1) as p:
        a, out = p.read("a", u32), p.write("out", u32, 1)
        out[0] = a[0]
        with p.if_(a[0] > 7):
            p.trap(1, "large")  # elsewhere
    return p.build()
