"""The page: one file, no address outside of it, and everything of a failure in it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from vyre_conform import Query, Suite, prove
from vyre_conform.html import write_page
from vyre_conform.html.page import page_data
from vyre_conform.html.ulp import ulps
from vyre_conform.report import Kill, Report
from vyre_conform.worker import NamedBy
from vyre_foundation.dtype import f16, f32, f64, u32

pytestmark = pytest.mark.usefixtures("backends", "forked")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    import os

    here = str(Path(__file__).parents[1] / "worker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])))
        run = prove(
            ["backends:FRAGILE", "backends:ABSENT"], Suite(queries=(Query.parse("ops:rem:dtype=u8,values=random"),)), 9
        )
        path = tmp_path_factory.mktemp("page") / "new" / "page.html"
        kills = [Kill("a", "host", "</script><b>", "traps:one"), Kill("b", "host", "it lies", None)]
        write_page(Report(run, kills), path, named_by=NamedBy.CALLER)
    return path.read_text("utf-8")


@pytest.fixture(scope="module")
def data(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    facts: dict[str, Any] = json.loads(found[1])
    return facts


def test_a_run_that_was_interrupted_is_not_proven() -> None:
    run = prove(["reference"], Suite(queries=(Query.parse("traps:one"),)))
    assert page_data(Report(run))["exit"] == 0
    run.is_complete = False
    assert page_data(Report(run))["exit"] == 5


def test_what_was_executed_is_there(data: dict[str, Any]) -> None:
    rows = {family: rest for family, *rest in data["executed"]}
    assert rows["barriers"] == [2, 0, 0, ["grid", "workgroup"]]
    kinds, executed, times, missing = rows["loads"]
    assert (kinds, executed, len(missing)) == (91, 1, 90)
    assert times > 100
    assert "u8.storage" not in missing


def test_nothing_is_loaded_from_anywhere(text: str) -> None:
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"\b(src|href)\s*=\s*[\"'](?!#)", text)
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_what_the_data_says_cannot_end_the_script(text: str, data: dict[str, Any]) -> None:
    assert data["kills"][0][2] == "</script><b>"
    assert text.count("</script>") == 2


def test_a_failure_has_all_that_is_needed_to_look_into_it(data: dict[str, Any]) -> None:
    states = [data["states"][row[2]] for row in data["cells"]]
    (number,) = [n for n, state in enumerate(states) if state == "fail"][:1]
    facts = data["details"][str(number)]
    assert "program rem_u8" in facts["program"]
    assert [given["name"] for given in facts["inputs"]] == ["x", "y"]
    assert re.fullmatch(r"[0-9a-f]{2}( [0-9a-f]{2})*", facts["inputs"][0]["hex"])
    assert f"x={int(_operand(facts), 16)} (0x{_operand(facts)})" in data["reasons"][str(number)]
    assert "(0x" in facts["got"]
    assert facts["command"].startswith("vyre-conform run --backend backends:FRAGILE --cases ops:rem:dtype=u8")
    assert facts["source"] == "backends:FRAGILE does not show what it emits"


def _operand(facts: dict[str, Any]) -> str:
    """The element of the first input that made the first wrong one of the output."""
    given = facts["inputs"][0]
    return str(given["hex"].split()[facts["index"] - given["first"]])


def test_inputs_are_written_as_numbers_round_the_place_that_differs() -> None:
    suite = Suite(queries=(Query.parse("ops:max:dtype=f64,values=opposite"),))
    report = Report(prove(["vyre_conform.controls.mutants:min-zeros"], suite, 0))
    ((_, facts),) = page_data(report)["details"].items()
    given = facts["inputs"][0]
    assert (given["first"], given["shown"]) == (min(facts["index"] - 64, given["count"] - 128), 128)
    assert _operand(facts) in ("0000000000000000", "8000000000000000")
    assert facts["ulp"] == 0, "a zero and the other are no floats apart"


def test_the_verdict_and_the_absent_are_there(data: dict[str, Any]) -> None:
    assert data["exit"] == 1
    assert data["backends"][1]["problem"].endswith("there is no device")


@pytest.mark.parametrize(
    ("dtype", "got", "expected", "steps"),
    [
        (f32, 0x3F800001, 0x3F800000, 1),
        (f32, 0x80000001, 0x00000001, 2),
        (f32, 0x80000000, 0x00000000, 0),
        (f16, 0x7C00, 0x7BFF, 1),
        (f16, 0x7E00, 0x3C00, None),
        (f64, 0x3FF0000000000000, 0x4000000000000000, 2**52),
        (u32, 1, 2, None),
    ],
)
def test_floats_are_counted_between_two(dtype: Any, got: int, expected: int, steps: int | None) -> None:
    assert ulps(dtype, got, expected) == steps
