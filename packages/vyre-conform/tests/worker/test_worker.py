"""Backends in processes of their own: what they do to themselves they do to nobody else."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from vyre_conform.address import Query
from vyre_conform.case import Case
from vyre_conform.cases import specs
from vyre_conform.compare import difference
from vyre_conform.outcome import Crashed, Raised, Returned, TimedOut
from vyre_conform.worker import Worker

pytestmark = pytest.mark.usefixtures("backends")


def case(query: str) -> Case:
    (spec,) = specs([Query.parse(query)])
    return spec.case()


@pytest.fixture
def fragile() -> Iterator[Worker]:
    with Worker("backends:FRAGILE", seconds=20) as worker:
        yield worker


def test_a_worker_introduces_itself_and_answers() -> None:
    with Worker("backends:RIGHT") as worker:
        hello = worker.start()
        assert (hello.backend, hello.problem) == ("backends:RIGHT", "")
        for query in ("ops:add:dtype=f16", "traps:one", "refusals:unlike:entry=compiled", "programs:sha256"):
            one = case(query)
            assert difference(one.launch, one.expected, worker.ask(one.launch)) is None


def test_what_is_printed_does_not_disturb_the_protocol() -> None:
    one = case("ops:add:dtype=u8")
    with Worker("backends:TALKATIVE") as worker:
        assert difference(one.launch, one.expected, worker.ask(one.launch)) is None


def test_a_crash_is_an_outcome_and_the_next_case_runs(fragile: Worker) -> None:
    died = fragile.ask(case("ops:sub:dtype=u8").launch)
    assert isinstance(died, Crashed)
    assert died.how == "signal SIGABRT"
    assert "my last words" in died.words
    one = case("ops:add:dtype=u8")
    assert difference(one.launch, one.expected, fragile.ask(one.launch)) is None
    assert fragile.starts == 2


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="the system has no process groups")
def test_an_interrupt_from_the_keyboard_does_not_reach_a_worker() -> None:
    """It goes to the whole group of the parent: here a program that asks a worker before and after."""
    parent = (
        "import os, signal\n"
        "from vyre_conform.suite import find\n"
        "from vyre_conform.worker import Worker\n"
        "launch = find('traps:none').case().launch\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        "with Worker('backends:RIGHT') as worker:\n"
        "    worker.ask(launch)\n"
        "    os.killpg(0, signal.SIGINT)\n"
        "    print(type(worker.ask(launch)).__name__, worker.starts)\n"
    )
    command = [sys.executable, "-c", parent]
    done = subprocess.run(command, capture_output=True, text=True, check=True, start_new_session=True)
    assert done.stdout == "Returned 1\n"


def test_silence_is_an_outcome_and_the_next_case_runs() -> None:
    with Worker("backends:FRAGILE", seconds=1.0) as worker:
        assert worker.ask(case("ops:mul:dtype=u8").launch) == TimedOut(1.0)
        worker.seconds = 20
        assert isinstance(worker.ask(case("ops:add:dtype=u8").launch), Returned)


def test_any_exception_is_an_outcome(fragile: Worker) -> None:
    raised = fragile.ask(case("ops:div:dtype=u8").launch)
    assert isinstance(raised, Raised)
    assert raised.error == "ZeroDivisionError"
    assert fragile.starts == 1


def test_a_second_dispatch_and_changed_inputs_are_seen() -> None:
    with Worker("backends:FORGETFUL") as worker:
        one = case("ops:add:dtype=u8")
        outcome = worker.ask(one.launch)
        assert isinstance(outcome, Returned)
        assert outcome.again is not None
        assert outcome.changed_inputs == ("x",)
        other = case("ops:sub:dtype=u8")
        outcome = worker.ask(other.launch)
        assert "a second dispatch differs" in str(difference(other.launch, other.expected, outcome))


@pytest.mark.parametrize(("backend", "problem"), [("backends:ABSENT", "there is no device"), ("nobody", "nobody")])
def test_a_backend_that_can_not_run_says_so(backend: str, problem: str) -> None:
    with Worker(backend) as worker:
        hello = worker.start()
    assert problem in hello.problem
    assert hello.fix


@pytest.mark.parametrize(
    ("backend", "problem", "fix"),
    [
        ("no_such_module:THING", "No module named 'no_such_module'", "name a module that can be imported"),
        ("backends:NOTHING", "module 'backends' has no attribute 'NOTHING'", "name a module"),
        ("backends:Right", "Right is not a registration", "name a BackendRegistration as module:ATTRIBUTE"),
    ],
)
def test_a_name_that_is_no_registration_is_refused(backend: str, problem: str, fix: str) -> None:
    with Worker(backend) as worker:
        hello = worker.start()
    assert problem in hello.problem
    assert hello.fix.startswith(fix)


def test_a_worker_that_does_not_start_says_why() -> None:
    with Worker("dies", command=(sys.executable, "-c", "raise SystemExit('no room')")) as worker:
        hello = worker.start()
    assert (hello.problem, hello.fix) == ("the worker did not start: exit status 1", "no room")
