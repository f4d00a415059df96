"""Where grid barriers are: inside of one launch where all workgroups run side by side, else between launches."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.codegen.lower import legalize
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.testing.target import generous_profile, generous_target
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

from .programs import Engine, doubling

SPELLED = replace(generous_target(), grid_barrier=True)
PROFILE = replace(generous_profile(), supports_grid_sync=True, max_resident_invocations=64)
COOPERATIVE = DispatchConfig(cooperative=True)


@pytest.fixture(autouse=True)
def as_it_is(lowering: Callable[[Any], None]) -> None:
    lowering(legalize)


def meeting(more: int = 0) -> Program:
    """Workgroups of 4 that meet twice."""
    with program("meeting", 4) as p:
        x = p.read_write("x", u32)
        y, z = p.scratch("y", u32, like=x), p.write("z", u32, like=x)
        i = p.global_id(0)
        x[i] = i
        p.grid_barrier()
        y[i] = x[x.length - 1 - i]
        p.grid_barrier()
        z[i] = y[0] + more
    return p.build()


def open_with(engine: Engine, concurrent_groups: int) -> Any:
    return engine(spelled=SPELLED, profile=PROFILE, concurrent_groups=concurrent_groups)


def given(workgroups: int) -> list[np.ndarray[Any, Any]]:
    return [np.zeros(4 * workgroups, np.uint32)]


@pytest.mark.parametrize(("workgroups", "launches"), [(1, 1), (5, 1), (6, 3)])
def test_barriers_are_inside_of_a_launch_that_fits(engine: Engine, workgroups: int, launches: int) -> None:
    e, source = open_with(engine, concurrent_groups=5), meeting()
    e.backend.dispatch(source, given(workgroups))
    assert e.ports[0].count("launch") == launches
    e.backend.dispatch(source, given(workgroups))
    assert e.ports[0].count("launch") == 2 * launches
    assert e.ports[0].count("side_by_side") == 1


def test_nothing_is_compiled_for_a_grid_that_cannot_fit(engine: Engine) -> None:
    e = open_with(engine, concurrent_groups=1000)
    e.backend.dispatch(meeting(), given(17))  # 68 invocations of 64
    assert (e.ports[0].count("compile"), e.ports[0].count("launch")) == (1, 3)
    assert e.ports[0].count("side_by_side") == 0


def test_both_kinds_of_code_are_kept(engine: Engine) -> None:
    e = open_with(engine, concurrent_groups=5)
    for workgroups in (5, 6, 5, 6, 4):
        e.backend.dispatch(meeting(), given(workgroups))
    assert e.ports[0].count("compile") == 2
    assert e.ports[0].count("launch") == 1 + 3 + 1 + 3 + 1


@pytest.mark.parametrize(("grid", "workgroups", "compiles", "launches"), [
    (None, 5, 1, 1),
    (None, 6, 2, 3),
    ((5, 1, 1), 5, 1, 1),
    ((17, 1, 1), 5, 1, 3),  # 68 invocations of 64
])  # fmt: skip
def test_a_pipeline_has_one_code_for_grids_that_fit(
    engine: Engine, grid: Any, workgroups: int, compiles: int, launches: int
) -> None:
    e, config = open_with(engine, concurrent_groups=5), DispatchConfig(grid_override=grid)
    pipeline = e.backend.compile_native(meeting(), config)
    assert e.ports[0].count("compile") == 1
    assert len(e.backend.emitted_source(meeting(), config).kernels) == (1 if grid != (17, 1, 1) else 3)
    for _ in range(2):
        pipeline.dispatch(given(workgroups))
    assert e.ports[0].count("compile") == compiles
    assert e.ports[0].count("launch") == 2 * launches


def test_programs_that_are_known_together_have_the_same_code(engine: Engine) -> None:
    e, sources = open_with(engine, concurrent_groups=5), [meeting(), meeting(more=1), doubling()]
    e.backend.precompile(sources)
    assert e.ports[0].count("compile") == 1  # the one without barriers is alone, and is left to its pipeline
    for source in sources:
        e.backend.compile_native(source)
    for source in sources[:2]:
        e.backend.dispatch(source, given(5))
    assert (e.ports[0].count("compile"), e.ports[0].count("launch")) == (2, 2)


def test_a_cooperative_launch_that_does_not_fit_is_refused(engine: Engine) -> None:
    e = open_with(engine, concurrent_groups=5)
    e.backend.dispatch(meeting(), given(5), COOPERATIVE)
    assert e.ports[0].count("launch") == 1
    with pytest.raises(UnsupportedFeature) as caught:
        e.backend.dispatch(meeting(), given(6), COOPERATIVE)
    assert str(caught.value) == (
        "fake does not support a cooperative launch of 6 workgroups (at most 5). "
        "Fix: use fewer workgroups, or leave `cooperative` to the backend"
    )
    assert e.ports[0].count("launch") == 1


def test_a_program_without_barriers_is_asked_about_only_if_it_is_to_be_cooperative(engine: Engine) -> None:
    with program("plain", 4) as p:
        x = p.read_write("x", u32)
        x[p.global_id(0)] = 1
    e = open_with(engine, concurrent_groups=5)
    e.backend.dispatch(p.build(), given(6))
    assert e.ports[0].count("side_by_side") == 0
    with pytest.raises(UnsupportedFeature, match="at most 5"):
        e.backend.dispatch(p.build(), given(6), COOPERATIVE)


def test_what_is_loaded_in_parts_is_not_cooperative(engine: Engine) -> None:
    """Code made ahead of time ends its launches at barriers: it serves every grid."""
    from vyre_driver.engine.artifact import compile_ahead, load_ahead

    e = open_with(engine, concurrent_groups=5)
    made = compile_ahead(e.backend, "fake", meeting(), DispatchConfig())
    load_ahead(e.backend, made)
    before = e.ports[0].count("launch")
    e.backend.dispatch(meeting(), given(2))
    assert e.ports[0].count("launch") == before + 3
    with pytest.raises(UnsupportedFeature, match="at most 0"):
        e.backend.dispatch(meeting(), given(2), COOPERATIVE)
