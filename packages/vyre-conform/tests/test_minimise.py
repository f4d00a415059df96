"""A random program that fails becomes a few lines in a file that replays."""

from pathlib import Path

import pytest

from vyre_conform.address import address
from vyre_conform.case import AsEvaluated, Case, Launch
from vyre_conform.cell import Cell, State
from vyre_conform.compare import difference
from vyre_conform.controls import FAULTS, Fault
from vyre_conform.minimise import minimise
from vyre_conform.oracle import settle
from vyre_conform.outcome import Outcome
from vyre_conform.reproducer import BadReproducer, format_launch, read_reproducer, write_reproducer
from vyre_conform.suite import random_specs
from vyre_conform.worker.serve import run
from vyre_foundation.ir.walk import program_expressions, statements


class Faulty:
    """A right executor but for one planted fault."""

    def __init__(self, fault: Fault) -> None:
        self.backend = fault.plant.begin()

    def ask(self, launch: Launch, repeats: int = 1) -> Outcome:
        return run(self.backend, launch, repeats)


def fails(executor: Faulty, launch: Launch) -> bool:
    case = Case(address=address("fuzz", "one"), launch=launch, expected=AsEvaluated())
    return difference(launch, settle(case).expected, executor.ask(launch)) is not None


@pytest.mark.parametrize("name", ["shift-unmasked", "cast-wraps", "continue-breaks", "no-barrier"])
def test_fuzzing_finds_a_fault_and_makes_it_small(name: str) -> None:
    (fault,) = [fault for fault in FAULTS if fault.id == name]
    executor = Faulty(fault)
    launches = (spec.case().launch for spec in random_specs(200, 5))
    found = next(launch for launch in launches if fails(executor, launch))
    least = minimise(found, executor, State.FAIL, attempts=600)
    assert fails(executor, least)
    assert len(list(statements(least.program.body))) <= 6
    assert len(program_expressions(least.program)) <= 16
    assert sum(map(len, least.inputs.values())) <= 64


def test_minimising_ends_when_time_is_up() -> None:
    executor = Faulty(FAULTS[0])
    launch = next(random_specs(1, 1)).case().launch
    assert minimise(launch, executor, State.FAIL, seconds=0) == launch


def test_a_reproducer_says_all_there_is(tmp_path: Path) -> None:
    for spec in random_specs(30, 2):
        launch = spec.case().launch
        cell = Cell(address=spec.address, backend="pkg.mine:REGISTRATION", state=State.FAIL, reason="wrong\nvery")
        path = write_reproducer(tmp_path / "new", launch, cell)
        assert path.name.endswith("pkg.mine-REGISTRATION.vyre")
        assert path.read_text("utf-8").startswith(f"# {spec.address} on pkg.mine:REGISTRATION: wrong\n# launch: {{")
        assert read_reproducer(path) == launch


def test_a_file_without_a_launch_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.vyre"
    text = format_launch(next(random_specs(1, 1)).case().launch, "title")
    path.write_text("\n".join(line for line in text.splitlines() if not line.startswith("# launch")))
    with pytest.raises(BadReproducer, match="has no `# launch:` line"):
        read_reproducer(path)
