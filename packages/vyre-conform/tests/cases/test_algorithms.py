"""Algorithms: what the reference gives is on file, and a change of it is an error."""

import json
from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest

import vyre_algorithms
from vyre_conform.case import Exactly, Launch
from vyre_conform.cases import algorithms
from vyre_driver import DispatchConfig
from vyre_driver.observe.races import Race
from vyre_driver.plan.cost import estimate
from vyre_driver.plan.launch import plan_launch
from vyre_driver.policy.queue import LONGEST_BLOCKING
from vyre_foundation.testing.goldens import accepting, is_accepted


def test_the_file_has_all_algorithms_and_no_others() -> None:
    if is_accepted():
        found = {
            name: [algorithms.digest_of(outputs) for _, outputs in algorithms.launches_of(name)]
            for name in algorithms.CALLS
        }
        path = Path(str(files("vyre_conform.cases").joinpath(algorithms.FILE)))
        path.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
        algorithms.on_file.cache_clear()
    assert list(algorithms.on_file()) == list(algorithms.CALLS), accepting(__file__)


def caches_of(package: ModuleType) -> dict[str, Any]:
    """The functions of a package that keep their results, by name: those that build programs among them."""
    modules = [import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    kept = [each for module in modules for each in vars(module).values() if hasattr(each, "cache_clear")]
    return {f"{each.__module__}.{each.__name__}": each for each in kept if each.__module__.startswith(package.__name__)}


def test_every_program_is_proven() -> None:
    """Those that only some devices run, too: each function that builds a program is called by a case."""
    caches = caches_of(vyre_algorithms)
    programs = {name: each for name, each in caches.items() if each.__wrapped__.__annotations__["return"] == "Program"}
    assert len(programs) > 70
    for cache in (*caches.values(), algorithms.launches_of):
        cache.cache_clear()
    for name in algorithms.CALLS:
        algorithms.launches_of(name)
    assert [name for name, found in programs.items() if not found.cache_info().currsize] == []


def test_devices_of_both_kinds_are_recorded() -> None:
    """With the same results, where they have other programs."""
    launches = {launch.program.name: outputs for launch, outputs in algorithms.launches_of("bincount")}
    assert len(launches) == 2
    assert len(set(launches.values())) == 1


def test_a_case_has_what_the_reference_gives() -> None:
    for spec in algorithms.specs():
        if spec.address.name in ("sum", "exact_sum", "fft", "find_all"):
            case = spec.case()
            assert isinstance(case.expected, Exactly)
            assert any(map(any, case.expected.outputs))


def test_another_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithms, "on_file", lambda: {"sum": ["0" * 64]})
    (spec,) = algorithms.specs()
    with pytest.raises(algorithms.AnotherDigest, match="launch 0 of sum gives"):
        spec.case()


NOT_KNOWN_TO_END = {"matmul_blocks", "sort_rows", "gather_rows", "reduce_columns_squares"}
"""The first is for lanes alone. The others may take 0.15 s, or as many steps as rows are said to have elements."""


def test_small_launches_are_known_to_end_soon() -> None:
    """Then a backend may run them in the calling thread, which cannot be interrupted there.

    What workgroups do together is not launched there.
    """
    for name in algorithms.CALLS:
        for launch, _ in algorithms.launches_of(name):
            if launch.program.name.endswith("_workgroup") or launch.program.name in NOT_KNOWN_TO_END:
                continue
            config = DispatchConfig(grid_override=launch.grid, workgroup_override=launch.workgroup)
            lengths = [len(launch.inputs[buffer.name]) for buffer in launch.program.inputs]
            cost = estimate(plan_launch(launch.program, lengths, config))
            assert cost.longest_ns <= 1e9 * LONGEST_BLOCKING, f"{launch.program.name} of {name}"


def test_no_launch_races(race_of: Callable[[Launch], Race | None]) -> None:
    """Here and not among the other cases, because the launches are those of the tests before."""
    for name in algorithms.CALLS:
        for launch, _ in algorithms.launches_of(name):
            assert race_of(launch) is None, f"{launch.program.name} of {name}"
