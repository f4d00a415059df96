"""Backends in processes of their own: what they do to themselves they do to nobody else."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from vyre_conform.address import Query
from vyre_conform.case import Case
from vyre_conform.cases import specs
from vyre_conform.compare import difference
from vyre_conform.outcome import Crashed, Raised, Returned, TimedOut
from vyre_conform.worker import ForkServers, NamedBy, Worker, fork_servers as forks
from vyre_conform.worker.child import LAST_WORDS, Child, last_words

pytestmark = pytest.mark.usefixtures("backends")


def case(query: str) -> Case:
    (spec,) = specs([Query.parse(query)])
    return spec.case()


@pytest.fixture(params=["started", "forked"], scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[ForkServers | None]:
    """What begins a worker: nothing, when it is a process of its own from its start."""
    if request.param == "started":
        yield None
    else:
        with ForkServers() as found:
            yield found


@pytest.fixture
def fragile(servers: ForkServers | None) -> Iterator[Worker]:
    with Worker("backends:FRAGILE", named_by=NamedBy.CALLER, seconds=20, fork_servers=servers) as worker:
        yield worker


def test_a_worker_introduces_itself_and_answers(servers: ForkServers | None) -> None:
    with Worker("backends:RIGHT", named_by=NamedBy.CALLER, fork_servers=servers) as worker:
        hello = worker.start()
        assert (hello.backend, hello.problem) == ("backends:RIGHT", "")
        for query in ("ops:add:dtype=f16", "traps:one", "refusals:unlike:entry=compiled", "programs:sha256"):
            one = case(query)
            assert difference(one.launch, one.expected, worker.ask(one.launch)) is None


def test_what_is_printed_does_not_disturb_the_protocol(servers: ForkServers | None) -> None:
    one = case("ops:add:dtype=u8")
    with Worker("backends:TALKATIVE", named_by=NamedBy.CALLER, fork_servers=servers) as worker:
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
        "from vyre_conform.worker import NamedBy, Worker\n"
        "launch = find('traps:none').case().launch\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        "with Worker('backends:RIGHT', named_by=NamedBy.CALLER) as worker:\n"
        "    worker.ask(launch)\n"
        "    os.killpg(0, signal.SIGINT)\n"
        "    print(type(worker.ask(launch)).__name__, worker.starts)\n"
    )
    command = [sys.executable, "-c", parent]
    done = subprocess.run(command, capture_output=True, text=True, check=True, start_new_session=True)
    assert done.stdout == "Returned 1\n"


def test_silence_is_an_outcome_and_the_next_case_runs(servers: ForkServers | None) -> None:
    with Worker("backends:FRAGILE", named_by=NamedBy.CALLER, fork_servers=servers, seconds=1.0) as worker:
        assert worker.ask(case("ops:mul:dtype=u8").launch) == TimedOut(1.0)
        worker.seconds = 20
        assert isinstance(worker.ask(case("ops:add:dtype=u8").launch), Returned)


@pytest.mark.parametrize("program", ["mul", "min"])
def test_last_words_say_where_a_process_hung(program: str, servers: ForkServers | None) -> None:
    """Also where native code holds the interpreter's lock: no thread of the process could notice anything then."""
    with Worker("backends:FRAGILE", named_by=NamedBy.CALLER, fork_servers=servers, seconds=1.0) as worker:
        hung = worker.ask(case(f"ops:{program}:dtype=u8").launch)
    assert isinstance(hung, TimedOut)
    assert hung.words.startswith("Timeout (0:00:01)!")
    assert "backends.py" in hung.words
    assert " in dispatch" in hung.words


def test_a_segmentation_fault_shows_where_it_happened(fragile: Worker) -> None:
    died = fragile.ask(case("ops:max:dtype=u8").launch)
    assert isinstance(died, Crashed)
    assert died.how == "signal SIGSEGV"
    assert "Fatal Python error: Segmentation fault" in died.words
    assert "in string_at" in died.words
    assert " in dispatch" in died.words
    assert "Extension modules" not in died.words


def test_an_untyped_exception_has_its_traceback(fragile: Worker) -> None:
    raised = fragile.ask(case("ops:div:dtype=u8").launch)
    assert isinstance(raised, Raised)
    assert raised.traceback.rstrip().endswith("ZeroDivisionError: not a typed error")
    assert ", in dispatch\n" in raised.traceback


def test_a_name_with_an_index_is_a_device_of_an_installed_backend() -> None:
    with Worker("reference:0", named_by=NamedBy.CALLER) as worker:
        assert worker.start().problem == ""
    with Worker("reference:7", named_by=NamedBy.CALLER) as worker:
        assert "it has no device 7" in worker.start().problem


def test_a_name_out_of_a_file_is_never_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()\nATTR = 1\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Worker("evil:ATTR", named_by=NamedBy.FILE) as worker:
        hello = worker.start()
    assert "evil:ATTR" in hello.problem
    assert not (tmp_path / "executed").exists()
    with Worker("evil:ATTR", named_by=NamedBy.CALLER) as worker:
        assert "not a registration" in worker.start().problem
    assert (tmp_path / "executed").exists()


def test_the_last_words_begin_with_the_report_of_a_death() -> None:
    report = "Fatal Python error: Aborted\n\nCurrent thread (most recent call first):\n  File a, line 1 in b"
    modules = f"Extension modules: {', '.join(f'module_{n}' for n in range(2000))} (total: 2000)"
    assert last_words(f"{'noise ' * 5000}\n{report}\n\n{modules}\n").endswith(report)
    assert last_words("x" * 10_000) == "x" * LAST_WORDS


def test_any_exception_is_an_outcome(fragile: Worker) -> None:
    raised = fragile.ask(case("ops:div:dtype=u8").launch)
    assert isinstance(raised, Raised)
    assert raised.error == "ZeroDivisionError"
    assert fragile.starts == 1


def test_a_backend_that_asks_to_end_the_process_shows_where(fragile: Worker) -> None:
    raised = fragile.ask(case("ops:shl:dtype=u8").launch)
    assert isinstance(raised, Raised)
    assert (raised.error, raised.message) == ("SystemExit", "3")
    assert ", in dispatch\n" in raised.traceback
    assert fragile.starts == 1


def test_a_factory_that_ends_the_process_shows_where(servers: ForkServers | None) -> None:
    with Worker("backends:QUITS", named_by=NamedBy.CALLER, fork_servers=servers) as worker:
        hello = worker.start()
    assert hello.problem == "its process did not start: exit status 1"
    assert "backends.py" in hello.log
    assert "the license has expired" in hello.log


def test_a_second_dispatch_and_changed_inputs_are_seen(servers: ForkServers | None) -> None:
    with Worker("backends:FORGETFUL", named_by=NamedBy.CALLER, fork_servers=servers) as worker:
        one = case("ops:add:dtype=u8")
        outcome = worker.ask(one.launch)
        assert isinstance(outcome, Returned)
        assert outcome.again is not None
        assert outcome.changed_inputs == ("x",)
        other = case("ops:sub:dtype=u8")
        outcome = worker.ask(other.launch)
        assert "a second dispatch differs" in str(difference(other.launch, other.expected, outcome))


@pytest.mark.parametrize(("backend", "problem"), [("backends:ABSENT", "there is no device"), ("nobody", "nobody")])
def test_a_backend_that_cannot_run_says_so(backend: str, problem: str, servers: ForkServers | None) -> None:
    with Worker(backend, named_by=NamedBy.CALLER, fork_servers=servers) as worker:
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
    with Worker(backend, named_by=NamedBy.CALLER) as worker:
        hello = worker.start()
    assert problem in hello.problem
    assert hello.fix.startswith(fix)


REGISTERED = """
from vyre_driver.backend.registration import Availability, BackendRegistration
from vyre_driver.testing.mock import MockBackend
from vyre_reference.vector import evaluate

registration = BackendRegistration(
    id="mine", precedence=9, contract=1, factory=lambda: MockBackend(evaluate, "mine"), probe=Availability.available
)
"""


def test_an_installed_backend_is_also_found_by_its_module(install: Callable[..., Path]) -> None:
    file = install("mine", REGISTERED)
    file.with_name("copy_of_mine.py").write_text(REGISTERED, "utf-8")
    with Worker("acme_mine:registration", named_by=NamedBy.CALLER) as worker:
        assert worker.start().problem == ""
    with Worker("copy_of_mine:registration", named_by=NamedBy.CALLER) as worker:
        hello = worker.start()
    first = "the distribution acme-mine (acme_mine:registration)"
    second = "the module copy_of_mine:registration"
    assert hello.problem == f"backend 'mine' is registered by {first} and by {second}"
    assert hello.fix == (
        "name the installed one, --backend mine; give the registration of the module another id; "
        "or pip uninstall acme-mine"
    )


def test_a_worker_that_does_not_start_says_why() -> None:
    with Worker("dies", command=(sys.executable, "-c", "raise SystemExit('no room')")) as worker:
        hello = worker.start()
    assert (hello.problem, hello.log) == ("its process did not start: exit status 1", "no room")


@pytest.mark.skipif(not forks.FORKS, reason="workers are processes that are started here")
def test_fork_servers_begin_workers_without_a_start_and_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Child] = []

    def begin(command: Sequence[str]) -> Child:
        begun.append(forks_begin(command))
        return begun[-1]

    forks_begin = forks.begin
    monkeypatch.setattr(forks, "begin", begin)
    launch = case("ops:add:dtype=u8").launch
    with ForkServers() as servers:
        for _ in range(3):
            with Worker("backends:MARKING", named_by=NamedBy.CALLER, fork_servers=servers) as worker:
                assert isinstance(worker.ask(launch, 1), Returned)
                again = worker.ask(launch, 1)
                assert isinstance(again, Raised)
                assert "this process was used before" in again.message
        assert len(begun) == 1
        with Worker("backends:LEAVING", named_by=NamedBy.CALLER, fork_servers=servers) as worker:
            assert worker.ask(launch) == Crashed("exit status 0", "I leave")
        with Worker("backends:RIGHT", named_by=NamedBy.CALLER, fork_servers=servers) as worker:
            assert isinstance(worker.ask(launch), Returned)
        assert len(begun) == 2
    assert all(child.has_ended for child in begun)
