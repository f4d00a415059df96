"""Algorithms: what the reference gives is on file, and a change of it is an error."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from vyre_conform.case import Exactly
from vyre_conform.cases import algorithms
from vyre_driver import DispatchConfig
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


@pytest.mark.parametrize("name", algorithms.CALLS)
def test_small_launches_are_known_to_end_soon(name: str) -> None:
    """Then a backend may run them in the calling thread, which cannot be interrupted there.

    What workgroups do together is not launched there.
    """
    for launch, _ in algorithms.launches_of(name):
        if launch.program.name.endswith("_workgroup"):
            continue
        config = DispatchConfig(grid_override=launch.grid, workgroup_override=launch.workgroup)
        lengths = [len(launch.inputs[buffer.name]) for buffer in launch.program.inputs]
        cost = estimate(plan_launch(launch.program, lengths, config))
        assert cost.longest_ns <= 1e9 * LONGEST_BLOCKING, launch.program.name
