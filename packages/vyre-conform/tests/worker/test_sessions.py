"""Sessions: several launches are one case, and a backend that mixes them up is found in every way of making them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from vyre_conform.address import Query
from vyre_conform.case import Case, Exactly, Launch, Spec
from vyre_conform.cases import specs
from vyre_conform.cell import State
from vyre_conform.compare import difference
from vyre_conform.judge import digests_of_launch
from vyre_conform.oracle.evaluators import EVALUATORS, evaluate_case
from vyre_conform.outcome import Returned
from vyre_conform.testing import require
from vyre_conform.worker.protocol import launch_message, launch_of
from vyre_conform.worker.sessions import SESSIONS
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.results import Inputs, OutputBuffers, Outputs
from vyre_driver.pipeline.compile import PassthroughPipeline
from vyre_driver.registry.backends import acquire
from vyre_driver.testing.mock import MockBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_reference.vector import evaluate

SPECS = specs([Query.parse("sessions")])


def words(*numbers: int) -> bytes:
    return b"".join(n.to_bytes(4, "little") for n in numbers)


def session() -> Launch:
    """``y`` is made of ``x``, then ``z`` of ``y``, which the second launch does not bring."""
    with program("first", 2) as p:
        x = p.read("x", u32)
        p.write("y", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] + 1
    first = p.build()
    with program("second", 2) as p:
        y = p.read("y", u32)
        p.write("z", u32, like=y)[p.global_id(0)] = y[p.global_id(0)] * 10
    return Launch(program=first, inputs={"x": words(1, 2)}, then=(Launch(program=p.build(), inputs={}),))


def named(text: str) -> Spec:
    (spec,) = [spec for spec in SPECS if str(spec.address) == text]
    return spec


# ── what a session is ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", EVALUATORS)
def test_a_launch_takes_what_the_one_before_has_left(name: str) -> None:
    assert evaluate_case(session(), EVALUATORS[name]) == Returned((words(2, 3), words(20, 30)))


def test_persistent_memory_is_that_of_a_program() -> None:
    with program("counts", 1) as p:
        out, kept = p.write("out", u32, 1), p.persistent("kept", u32, 1)
        kept[0] = kept[0] + 1
        out[0] = kept[0]
    counts = Launch(program=p.build(), inputs={})
    other = replace(counts, program=replace(counts.program, name="counts too"))
    outcome = evaluate_case(replace(counts, then=(counts, other, counts)), EVALUATORS["vector"])
    assert outcome == Returned((words(1), words(2), words(1), words(3)))


def test_outputs_say_which_launch_they_are_of() -> None:
    launch = session()
    assert [buffer.name for buffer in launch.outputs] == ["y", "z, launch 2"]
    found = difference(launch, Exactly((words(2, 3), words(20, 30))), Returned((words(2, 3), words(20, 31))))
    assert str(found) == "z, launch 2[1]: got 31 (0x0000001f), expected 30 (0x0000001e)"


def test_all_launches_come_to_the_worker_and_count_in_digests() -> None:
    launch = replace(session(), entry="calls")
    assert launch_of(*launch_message(launch, 2)) == (launch, 2)
    (then,) = launch.then
    others = [launch, replace(launch, then=()), replace(launch, then=(replace(then, grid=(3, 1, 1)),))]
    assert len({digests_of_launch(other)[1] for other in others}) == 3


# ── the ways ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_way_has_its_cases() -> None:
    assert {dict(spec.address.keys)["entry"] for spec in SPECS} == {*SESSIONS}


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_reference_is_right_in_every_way(spec: Spec) -> None:
    """As `tox -e conform-all` finds it."""
    assert require(acquire("reference"), spec) is State.PASS


def test_a_way_that_would_show_nothing_says_so() -> None:
    launch = session()
    expected = Exactly((words(2, 3), words(20, 30)))
    for way in ("calls_in_flight", "calls_in_batches"):
        case = Case(address=SPECS[0].address, launch=replace(launch, entry=way), expected=expected)
        spec = Spec(case.address, lambda _, case=case: (case.launch, case.expected))  # type: ignore[misc]
        assert require(acquire("reference"), spec) is State.SKIPPED


class Wrapped(PassthroughPipeline):
    """A pipeline whose results `spoil` changes."""

    def __init__(self, backend: Any, program: Program, config: DispatchConfig, spoil: Callable[[Outputs], Outputs]):
        super().__init__(backend, program, config)
        self.spoil = spoil

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        return self.spoil(super().dispatch(inputs, config))


class OneRoom(MockBackend, contract=1):
    """Results of one program are all in one place."""

    def __init__(self) -> None:
        super().__init__(evaluate, "one-room")
        self.rooms: dict[tuple[str, int, int], bytearray] = {}

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        def spoil(outputs: Outputs) -> Outputs:
            return [self._placed(program, n, output) for n, output in enumerate(outputs)]

        return Wrapped(self, program, config, spoil)

    def _placed(self, program: Program, number: int, output: memoryview) -> memoryview:
        room = self.rooms.setdefault((program.name, number, output.nbytes), bytearray(output.nbytes))
        room[:] = output
        return memoryview(room)


class FirstInputs(MockBackend, contract=1):
    """Takes the inputs that came from some memory for those that came from there first."""

    def __init__(self) -> None:
        super().__init__(evaluate, "first-inputs")
        self.known: dict[int, tuple[Any, bytes]] = {}

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return super().dispatch(program, [self.known.setdefault(id(x), (x, bytes(x)))[1] for x in inputs], config)


class FirstGrid(MockBackend, contract=1):
    """Reads the grid of a program once."""

    def __init__(self) -> None:
        super().__init__(evaluate, "first-grid")
        self.words: dict[Program, bytes] = {}

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        given = [self.words.setdefault(program, bytes(inputs[0])), *inputs[1:]] if program.name == "grids" else inputs
        return super().dispatch(program, given, config)


class WritesAtOnce(MockBackend, contract=1):
    """Clears the slots of the caller before it looks at the inputs."""

    def __init__(self) -> None:
        super().__init__(evaluate, "writes-at-once")

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline:
        return Hasty(self, program, config)


class Hasty(PassthroughPipeline):
    def dispatch_into(self, inputs: Inputs, config: DispatchConfig | None, outputs: OutputBuffers) -> None:
        for slot in outputs:
            memoryview(slot).cast("B")[:] = bytes(memoryview(slot).nbytes)  # type: ignore[arg-type]
        super().dispatch_into(inputs, config, outputs)


LIES = [
    (OneRoom, "sessions:recycled:entry=calls", "whole"),
    (OneRoom, "sessions:grids:entry=calls_in_batches", "out"),
    (FirstInputs, "sessions:recycled:entry=calls", "launch 2"),
    (FirstGrid, "sessions:grids:entry=calls", "out, launch 2"),
    (WritesAtOnce, "sessions:recycled:entry=calls_into_inputs", "whole"),
]


@pytest.mark.parametrize(("backend", "case", "words"), LIES)
def test_a_lie_is_found(backend: Callable[[], MockBackend], case: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        require(backend(), named(case), repeats=1)
