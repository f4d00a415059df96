"""Every error: its number is frozen, its text ends with a remedy, it survives pickling."""

import pickle

import pytest

from vyre_driver import errors
from vyre_driver.errors import BackendError
from vyre_foundation.errors import VyreError
from vyre_foundation.validate.facts import Finding, InvalidProgram as InvalidProgramOfTheLanguage

FINDING = Finding("V001", "body[0]", "the name is taken", "rename it")

# fmt: off
# A number is never changed and never used again: a new class takes the next free one.
CATALOGUE = [
    (1001, errors.DeviceOutOfMemory(64, 32),
     ("the device is out of memory: 64 bytes are needed, 32 are available. "
     "Fix: use smaller buffers, or split the dispatch")),
    (1002, errors.UnsupportedFeature("f64; 64-bit atomics", backend="mine"),
     ("mine does not support f64; 64-bit atomics. "
     "Fix: ask the backend's capability queries first, or choose another backend")),
    (1003, errors.PoisonedState("mine", "the kernel crashed"),
     ("mine cannot go on after an earlier failure: the kernel crashed. "
     "Fix: compile the program again: its persistent memory begins at zero then")),
    (1004, errors.KernelCompileFailed("mine", "3:1: error: no\n", source="text", where="main body[0]"),
     ("main body[0]: the compiler of mine refused the emitted source: 3:1: error: no. "
     "Fix: report the program with the emitted `source` and the compiler's `log`: valid programs must compile")),
    (1005, errors.DispatchFailed("out of resources", backend="mine", status=-5),
     ("the dispatch on mine failed (status -5): out of resources. "
     "Fix: look the reason up in the runtime's documentation; `vyre doctor` checks the installation")),
    (1006, errors.InvalidProgram("p", [FINDING]),
     "program 'p': not valid, 1 finding\nV001 body[0]: the name is taken. Fix: rename it"),
    (1007, errors.InvalidInput("a", needed="8 bytes", got="6 bytes"),
     "argument 'a': got 6 bytes, expected 8 bytes. Fix: pass a buffer that matches the program's declaration"),
    (1008, errors.OutputLimitExceeded(10, 8),
     "the outputs take 10 bytes, max_output_bytes allows 8. Fix: raise max_output_bytes, or dispatch less"),
    (1009, errors.DispatchTimeout(0.5, "the kernels", backend="mine"),
     "the timeout of 0.5 s passed during the kernels on mine. Fix: raise the timeout, or dispatch less at once"),
    (1010, errors.DeviceLost("mine", "it was unplugged"),
     "the device of mine is lost: it was unplugged. Fix: call try_recover(), then compile and upload again"),
    (1011, errors.Trapped("too large", 7, 3),
     "invocation 3 trapped with 'too large', code 7. Fix: correct what the trap's tag names: an input, or a limit"),
    (1012, errors.StaleHandle("the pipeline", "it was closed"),
     "the pipeline cannot be used: it was closed. Fix: make a new one on this backend"),
    (1013, errors.BackendUnavailable("mine", "no device was found"),
     "backend 'mine' is not available: no device was found. Fix: choose another backend"),
    (1014, errors.UnknownBackend("mine", ["a", "b"]),
     "no backend 'mine' is registered (registered: a, b). Fix: choose a registered backend"),
    (1015, errors.InvalidLaunch("timeout", needed="more than 0 seconds", got="-1"),
     "timeout: got -1, expected more than 0 seconds. Fix: change that field of the configuration"),
    (1016, errors.ContractMismatch("backend class 'X'", "implements contract 2"),
     "backend class 'X' implements contract 2. Fix: state the contract that the class implements"),
    (1017, errors.DuplicateBackend("mine", "this", "that"),
     "backend 'mine' is registered by this and by that. Fix: uninstall one of the two distributions"),
    (1018, errors.InvalidSetting("VYRE_CACHE", needed="off, ro or rw", got="on"),
     "VYRE_CACHE: got 'on', expected off, ro or rw. Fix: correct the variable, or unset it"),
    (1019, errors.ShadowDiverged("mine", "reference", "out[3]: got 1, expected 2", capsule="x.zip"),
     ("mine does not agree with reference: out[3]: got 1, expected 2. "
     "Fix: see it again with `vyre replay x.zip`")),
    (1020, errors.BadCapsule("x.zip", "it is empty"),
     "x.zip is no replay capsule: it is empty. Fix: replay a file that a shadowed dispatch has written"),
    (1021, errors.PolicyDenied("allowed ops", "it uses div"),
     "the policy 'allowed ops' denies it: it uses div. Fix: change the program, or ask for another policy"),
    (1022, errors.BadArtifact("it does not begin as one"),
     ("the compiled program cannot be used: it does not begin as one. "
     "Fix: compile the program again for this device, with `vyre compile`")),
    (1023, errors.ResidentGraphReuseTelemetryError("warm_reuses", -1),
     "warm_reuses would be -1. Fix: compare counts of one backend, the earlier ones on the right"),
    (1024, errors.InvalidGraph("g", [FINDING]),
     "graph 'g': not valid, 1 finding\nV001 body[0]: the name is taken. Fix: rename it"),
    (1025, errors.LaunchCancelled("g"), "the launch of graph 'g' was cancelled. Fix: launch the graph again"),
    (1026, errors.MissingExtra("otel", "opentelemetry"),
     "the package 'opentelemetry' is not installed. Fix: pip install 'vyre-driver[otel]'"),
    (1027, errors.InvalidOutput("mine", "400 bytes for 'out', 4000 are declared"),
     ("backend 'mine' returned 400 bytes for 'out', 4000 are declared. Fix: report it to the backend's authors: a "
     "dispatch returns a list with one contiguous buffer for each output of the program, in binding order, of exactly "
     "the declared size")),
]
# fmt: on


@pytest.mark.parametrize(("number", "error", "text"), CATALOGUE, ids=lambda x: type(x).__name__)
def test_number_and_text(number: int, error: BackendError, text: str) -> None:
    assert (error.number, error.code, str(error)) == (number, f"E{number}", text)


@pytest.mark.parametrize("error", [row[1] for row in CATALOGUE], ids=lambda x: type(x).__name__)
def test_pickling_keeps_everything(error: BackendError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(copy) is type(error)
    assert (str(copy), copy.where, copy.fix, copy.fields) == (str(error), error.where, error.fix, error.fields)


def test_the_catalogue_is_complete() -> None:
    own = {c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, BackendError)}
    assert {type(row[1]) for row in CATALOGUE} == own - {BackendError}
    numbers = [row[0] for row in CATALOGUE]
    assert numbers == list(range(1001, 1001 + len(CATALOGUE)))


@pytest.mark.parametrize("error", [row[1] for row in CATALOGUE], ids=lambda x: type(x).__name__)
def test_fields_are_the_constructor_s_and_a_better_remedy_replaces_the_usual_one(error: BackendError) -> None:
    better = type(error)(**error.fields, fix="stand on one leg")
    assert better.message == error.message
    assert better.fix == "stand on one leg"


def test_facts_have_properties() -> None:
    trapped = errors.Trapped("too large", 7, 3)
    assert (trapped.tag, trapped.trap_code, trapped.invocation) == ("too large", 7, 3)
    wrong = errors.InvalidInput("a", needed="8 bytes", got="6 bytes")
    assert (wrong.buffer, wrong.needed, wrong.got) == ("a", "8 bytes", "6 bytes")
    refused = errors.KernelCompileFailed("mine", "log", source="text")
    assert (refused.log, refused.source) == ("log", "text")


def test_an_empty_compiler_log_is_said() -> None:
    assert "the compiler gave no message" in str(errors.KernelCompileFailed("mine", " \n"))


def test_an_invalid_program_is_also_the_language_s_own_error() -> None:
    error = errors.InvalidProgram("p", [FINDING])
    assert isinstance(error, InvalidProgramOfTheLanguage)
    assert error.findings == (FINDING,)


def test_every_error_is_a_vyre_error() -> None:
    assert all(isinstance(row[1], VyreError) for row in CATALOGUE)


@pytest.mark.parametrize("stage", ["legalization", "compilation", "the first launch"])
def test_a_timeout_of_compilation_is_not_remedied_by_a_smaller_dispatch(stage: str) -> None:
    error = errors.DispatchTimeout(0.5, stage, backend="mine")
    assert str(error).endswith("Fix: raise the timeout, or make the program smaller")
