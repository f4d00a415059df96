"""A random program that fails becomes a few lines in a file that replays."""

from pathlib import Path

import pytest

from vyre_conform.address import address
from vyre_conform.case import AsEvaluated, Case, Launch
from vyre_conform.cell import Cell, State
from vyre_conform.compare import difference
from vyre_conform.controls import FAULTS, Fault
from vyre_conform.minimise import Executor, minimise
from vyre_conform.oracle import settle
from vyre_conform.outcome import Crashed, Outcome, Raised
from vyre_conform.reproducer import BadReproducer, format_launch, read_reproducer, write_reproducer
from vyre_conform.suite import random_specs
from vyre_conform.worker.serve import run
from vyre_foundation.ir.stmt import If, Stmt, Store
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


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("shift-unmasked", 5),
        pytest.param("cast-wraps", 5, marks=pytest.mark.slow),
        pytest.param("continue-breaks", 5, marks=pytest.mark.slow),
        pytest.param("no-barrier", 2, marks=pytest.mark.slow),
    ],
)
def test_fuzzing_finds_a_fault_and_makes_it_small(name: str, seed: int) -> None:
    (fault,) = [fault for fault in FAULTS if fault.id == name]
    executor = Faulty(fault)
    launches = (spec.case().launch for spec in random_specs(200, seed))
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


class Dying:
    """Ends by one signal where a program stores, and by another where it does not."""

    def ask(self, launch: Launch, repeats: int = 1) -> Outcome:
        stores = any(isinstance(stmt, Store) for stmt in statements(launch.program.body))
        return Crashed("signal SIGSEGV" if stores else "signal SIGFPE")


class Refusing:
    """Raises one error for programs with an `if`, and another for the rest."""

    def ask(self, launch: Launch, repeats: int = 1) -> Outcome:
        branches = any(isinstance(stmt, If) for stmt in statements(launch.program.body))
        return Raised(("KernelCompileFailed" if branches else "DispatchFailed", "Exception"), "no")


def with_a(kind: type[Stmt]) -> Launch:
    launches = (spec.case().launch for spec in random_specs(50, 3))
    return next(one for one in launches if any(isinstance(stmt, kind) for stmt in statements(one.program.body)))


@pytest.mark.parametrize(("executor", "state", "kind"), [(Dying(), State.CRASHED, Store), (Refusing(), State.FAIL, If)])
def test_a_smaller_program_ends_by_the_same_signal_or_error(executor: Executor, state: State, kind: type[Stmt]) -> None:
    launch = with_a(kind)
    least = minimise(launch, executor, state, attempts=100)
    assert len(list(statements(least.program.body))) < len(list(statements(launch.program.body)))
    assert executor.ask(least) == executor.ask(launch)


def test_an_error_while_minimising_leaves_what_was_found(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    judged = iter(range(3))

    def breaks(*args: object, **options: object) -> bool:
        if next(judged, None) is None:
            raise RecursionError("too deep")
        return False

    monkeypatch.setattr("vyre_conform.minimise.races", breaks)
    launch = with_a(Store)
    least = minimise(launch, Dying(), State.CRASHED)
    assert Dying().ask(least) == Dying().ask(launch)
    assert "too deep" in caplog.text


def test_what_fails_otherwise_the_second_time_stays_as_it_is() -> None:
    launch = with_a(Store)
    assert minimise(launch, Dying(), State.FAIL) is launch


def test_a_reproducer_says_all_there_is(tmp_path: Path) -> None:
    for spec in random_specs(30, 2):
        launch = spec.case().launch
        cell = Cell(address=spec.address, backend="pkg.mine:REGISTRATION", state=State.FAIL, reason="wrong\nvery")
        path = write_reproducer(tmp_path / "new", launch, cell)
        assert path.name.endswith("pkg.mine-REGISTRATION.vyre")
        assert path.read_text("utf-8").startswith(f"# {spec.address} on pkg.mine:REGISTRATION: wrong\n# launch: {{")
        assert read_reproducer(path) == launch


def test_an_unknown_way_into_a_backend_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.vyre"
    text = format_launch(next(random_specs(1, 1)).case().launch, "title")
    path.write_text(text.replace('"canaries"', '"window"'))
    with pytest.raises(BadReproducer, match="'window' is no way into a backend"):
        read_reproducer(path)


def test_a_file_without_a_launch_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.vyre"
    text = format_launch(next(random_specs(1, 1)).case().launch, "title")
    path.write_text("\n".join(line for line in text.splitlines() if not line.startswith("# launch")))
    with pytest.raises(BadReproducer, match="has no `# launch:` line"):
        read_reproducer(path)
