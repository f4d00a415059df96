"""The page of the driver's modules: each has a row, and each place that a row names is there."""

import importlib
import re
from pathlib import Path

import pytest

SPECIFIED = """
accounting allocation aot arm_independence async_copy_overlap autotune_store backend benchmark_pass_selection binding
bindless_policy cache_eviction cache_eviction_heat cache_invalidation command_reuse_policy device_convergence
device_diagnostic_aggregation device_extraction device_profile device_signature device_work_queue diagnostics
dispatch_policy dispatch_shape error evidence extraction_cost fixpoint_iterations fusion graph_capture grid_sync
input_identity launch launch_fusion megakernel_barrier megakernel_execution megakernel_frontier multi_query_execution
numeric observability ordering output_slots param_inlining persistent persistent_kernel_policy pipeline pipeline_fusion
program_walks registry reservation_policy residency resident_transfer_fusion result_compaction routing shadow
shape_prediction specialization speculate speculation_substrate strategy subgroup trace_jit_policy transfer_accounting
tuner validation
""".split()

PAGE = Path(__file__).parents[2] / "docs/modules.md"
ROW = re.compile(r"\| (\w+) \| (.+?) \| (.+) \|")


def rows() -> dict[str, tuple[str, str]]:
    found = [match.groups() for match in map(ROW.fullmatch, PAGE.read_text("utf-8").splitlines()) if match]
    return {module: (place, reason) for module, place, reason in found if module != "module"}


def test_every_module_has_its_row() -> None:
    assert len(SPECIFIED) == 64
    assert list(rows()) == SPECIFIED
    assert "specified as 64 modules" in PAGE.read_text("utf-8")


@pytest.mark.parametrize("module", SPECIFIED)
def test_its_places_are_there_or_there_is_a_reason(module: str) -> None:
    place, reason = rows()[module]
    names = re.findall(r"`([\w.]+)`", place)
    assert reason.startswith("not here: ") == (place == "–"), module
    assert bool(names) == (place != "–"), module
    for name in names:
        require(f"vyre_driver.{name}")


def require(name: str) -> None:
    """Import the module that a name begins with, and get what is left of it."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[count:]:
            found = getattr(found, attribute)
        return
    raise AssertionError(f"there is no {name}")


def test_a_place_that_is_not_there_is_found() -> None:
    with pytest.raises(AttributeError):
        require("vyre_driver.plan.launch.nothing")
