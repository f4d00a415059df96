"""A suite that cannot fail proves nothing: every planted fault is found.

Here are one fault of each layer; ``vyre-conform controls`` hunts all of them, and so do the slow tests.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from vyre_conform import controls
from vyre_conform.address import Query
from vyre_conform.controls import FAULTS, Fault, Layer, hunt, run_controls
from vyre_conform.controls.fault import Plant, found
from vyre_conform.controls.hunt import Cases
from vyre_conform.controls.mutants import RIGHT
from vyre_conform.outcome import Raised
from vyre_conform.suite import Suite
from vyre_conform.testing import cells, require
from vyre_conform.worker import Worker

FEW = {layer: next(fault for fault in FAULTS if fault.layer is layer) for layer in Layer}
ODD = [fault for fault in FAULTS if fault.id in ("aborts", "errors-untyped", "counters-mixed", "narrow-unwrapped")]
FILES = sorted(Path(controls.__file__).parent.glob("*.py"))
DOCUMENTED = ("_exit", "_replace")
"""Names of the standard library with an underscore that are public."""

ADDRESSES = [spec.address for spec in Suite().specs(0)]


@pytest.fixture(scope="module")
def cases() -> Iterator[Cases]:
    with Cases(Suite().specs(0), 0) as found:
        yield found


def test_there_are_many_faults_with_names_of_their_own() -> None:
    assert len(FAULTS) >= 140
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert all(fault.id not in RIGHT for fault in FAULTS)


def test_a_fault_says_where_to_look_first() -> None:
    for query in sorted({query for fault in FAULTS for query in fault.near.split()}):
        assert any(Query.parse(query).matches(address) for address in ADDRESSES), query


REPLACING = [fault for fault in FAULTS if fault.plant.where]


def test_what_a_fault_replaces_is_there() -> None:
    for fault in REPLACING:
        owner, name = found(fault.plant.where)
        replaced = getattr(owner, name)
        assert callable(replaced) or isinstance(replaced, property), fault.id


def test_what_a_fault_replaces_is_public() -> None:
    for fault in REPLACING:
        module, _, path = fault.plant.where.partition(":")
        assert not any(name.startswith("_") for name in (*module.split("."), *path.split("."))), fault.id


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_faults_use_no_private_attributes(file: Path) -> None:
    used = {
        (ast.unparse(node.value), node.attr)
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
    }
    assert {(owner, name) for owner, name in used if owner != "self" and name not in DOCUMENTED} == set()


@pytest.mark.parametrize("fault", [*FEW.values(), *ODD], ids=lambda fault: fault.id)
def test_a_planted_fault_is_killed(fault: Fault, cases: Cases) -> None:
    kill = hunt(fault, cases)
    assert kill.by is not None
    assert (kill.fault, kill.layer) == (fault.id, fault.layer.value)


@pytest.mark.slow
def test_all_planted_faults_are_killed() -> None:
    survived = [kill.fault for kill in run_controls(Suite().specs(0), 0) if kill.by is None]
    assert survived == []


@pytest.mark.parametrize("name", RIGHT)
def test_what_faults_are_planted_in_is_right(name: str) -> None:
    backend = RIGHT[name]()
    for spec in cells("control:steps", "grid:nested_loops", "temptations:narrow_chains", "traps:one"):
        assert require(backend, spec).value == "pass-exact"


def test_a_fault_that_does_not_fit_any_more_is_no_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    """That all cases fail by the error of a call shows nothing."""
    error = Raised(("TypeError", "Exception"), "emit() takes 2 positional arguments but 3 were given")
    monkeypatch.setattr(Worker, "ask", lambda self, launch, repeats: error)
    with Cases(cells("traps:one"), 0) as few:
        kill = hunt(FEW[Layer.HOST], few)
    assert (kill.by, kill.tried) == (None, 1)
    assert kill.how == "it is stale: emit() takes 2 positional arguments but 3 were given"


def test_a_case_that_the_right_backend_fails_is_no_kill() -> None:
    """What fails with and without the fault says nothing about the fault."""
    fault = replace(FEW[Layer.HOST], near="traps:one", plant=Plant(FEW[Layer.HOST].plant.begin, "last-group"))
    with Cases(cells("memory:sizes"), 0) as few:
        assert hunt(fault, few).by is None


def test_a_fault_that_no_case_looks_for_survives() -> None:
    fault = FEW[Layer.COMPILER]
    (kill,) = run_controls(cells("traps:one"), 0, [fault], jobs=1)
    assert (kill.by, kill.tried) == (None, len(cells("traps:one")))
