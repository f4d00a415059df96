"""What a backend gives back is checked in every way to call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pending import PendingDispatch, ReadyPending
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import TimedDispatchResult
from vyre_driver.engine.backend import EnginePipeline
from vyre_driver.engine.resident import HostMemoryBackend
from vyre_driver.errors import BackendError, InvalidInput, InvalidOutput, InvalidProgram
from vyre_driver.observe.shadowed import ShadowedBackend
from vyre_driver.pipeline.compile import compile
from vyre_foundation import program, u32
from vyre_foundation.ir.program import Program

X = np.arange(10, dtype=np.uint32)
CONFIG = DispatchConfig()


def two_outputs() -> Program:
    with program("copies", workgroup_size=4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        first = p.write("first", u32, like=a, output_range=(0, 8))
        i = p.global_id(0)
        out[i] = a[i]
        first[i] = a[i]
    return p.build()


PROGRAM = two_outputs()
RIGHT = [X.tobytes(), bytearray(8)]


class Plain(VyreBackend, contract=1):
    """Gives back what it is told to."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def id(self) -> str:
        return "plain"

    def dispatch(self, program, inputs, config=CONFIG):
        return self.found


class OwnWays(Plain, contract=1):
    """Has a way of its own for each form of dispatch."""

    def dispatch_borrowed(self, program, inputs, config=CONFIG):
        return self.found

    def dispatch_borrowed_timed(self, program, inputs, config=CONFIG):
        return TimedDispatchResult(outputs=self.found, wall_ns=1)

    def dispatch_borrowed_into(self, program, inputs, config, outputs):
        outputs[:] = self.found

    def dispatch_async(self, program, inputs, config=CONFIG):
        return ReadyPending(self.found)

    def dispatch_borrowed_async(self, program, inputs, config=CONFIG):
        return ReadyPending(self.found)

    def compile_native(self, program, config=CONFIG):
        return OwnPipeline(self.found)


class OwnPipeline(CompiledPipeline):
    def __init__(self, found: Any) -> None:
        self.found = found

    def id(self) -> str:
        return "plain:own"

    def dispatch(self, inputs, config=None):
        return self.found

    def dispatch_arrays(self, arrays, config=None):
        return dict(zip(("out", "first"), self.found, strict=False))


def compiled(backend: VyreBackend) -> CompiledPipeline:
    return compile(backend, PROGRAM)


# fmt: off
WAYS: dict[str, Callable[[VyreBackend], object]] = {
    "dispatch":         lambda b: b.dispatch(PROGRAM, [X]),
    "arrays":           lambda b: b.dispatch_arrays(PROGRAM, {"a": X}),
    "borrowed":         lambda b: b.dispatch_borrowed(PROGRAM, [X]),
    "timed":            lambda b: b.dispatch_borrowed_timed(PROGRAM, [X]).outputs,
    "into":             lambda b: b.dispatch_borrowed_into(PROGRAM, [X], CONFIG, []),
    "async":            lambda b: b.dispatch_async(PROGRAM, [X]).await_result(),
    "borrowed async":   lambda b: b.dispatch_borrowed_async(PROGRAM, [X]).await_result(),
    "async into":       lambda b: b.dispatch_async(PROGRAM, [X]).await_result_into([]),
    "pipeline":         lambda b: compiled(b).dispatch([X]),
    "pipeline arrays":  lambda b: compiled(b).dispatch_arrays({"a": X}),
    "pipeline timed":   lambda b: compiled(b).dispatch_timed([X]).outputs,
    "pipeline into":    lambda b: compiled(b).dispatch_into([X], None, []),
    "pipeline batched": lambda b: compiled(b).dispatch_batched([[X]]),
    "batched into":     lambda b: compiled(b).dispatch_batched_into([[X]], None, []),
    "pipeline async":   lambda b: compiled(b).dispatch_async([X]).await_result(),
}
WRONG: list[tuple[object, str]] = [
    ([bytes(4), bytes(8)],                        "4 bytes for 'out', 40 are declared"),
    ([bytes(40), bytes(40)],                      "40 bytes for 'first', 8 are declared"),
    ([bytes(40)],                                 "1 outputs, expected 2 (out, first)"),
    ([np.zeros((10, 2), np.uint32)[:, 0], bytes(8)], "a strided view for 'out', expected contiguous memory"),
    ([40, bytes(8)],                              "int for 'out', expected an object with the buffer protocol"),
]
# fmt: on


@pytest.mark.parametrize("kind", [Plain, OwnWays])
@pytest.mark.parametrize("way", [way for way in WAYS if not way.endswith("arrays")])  # these refuse bytes; see below
def test_wrong_outputs_are_refused_in_every_way(kind: type[Plain], way: str) -> None:
    for found, reason in WRONG:
        with pytest.raises(InvalidOutput) as caught:
            WAYS[way](kind(found))
        assert str(caught.value).startswith(f"backend 'plain' returned {reason}")
        assert caught.value.fix.startswith("report it to the backend's authors")


@pytest.mark.parametrize("kind", [Plain, OwnWays])
@pytest.mark.parametrize("way", ["arrays", "pipeline arrays"])
@pytest.mark.parametrize("found", [[bytes(4), bytes(8)], [bytes(40)], [bytes(39), bytes(8)]])
def test_wrong_outputs_are_refused_as_arrays(kind: type[Plain], way: str, found: object) -> None:
    with pytest.raises(InvalidOutput, match="backend 'plain' returned"):
        WAYS[way](kind(found))


@pytest.mark.parametrize("kind", [Plain, OwnWays])
@pytest.mark.parametrize("way", WAYS)
def test_right_outputs_go_through(kind: type[Plain], way: str) -> None:
    WAYS[way](kind(RIGHT))


@pytest.mark.parametrize("found", [None, 3, b"four", np.zeros((2, 10), np.uint32), {}])
def test_outputs_are_a_list(found: object) -> None:
    with pytest.raises(InvalidOutput, match="expected a list of outputs"):
        Plain(found).dispatch(PROGRAM, [X])


def test_outputs_are_bytes_whatever_the_backend_returns() -> None:
    (out, first) = Plain([X, RIGHT[1]]).dispatch(PROGRAM, [X])
    assert (out.format, out.nbytes, first.nbytes) == ("B", 40, 8)


def test_outputs_are_writable_whatever_the_backend_returns() -> None:
    found = [bytes(40), memoryview(bytes(8))]
    for out in Plain(found).dispatch(PROGRAM, [X]):
        out[:] = bytes([7]) * out.nbytes
    assert found == [bytes(40), bytes(8)]
    array = Plain(found).dispatch_arrays(PROGRAM, {"a": X})["out"]
    array += 1


def test_other_methods_return_what_the_contract_says() -> None:
    class Loose(Plain, contract=1):
        def dispatch_async(self, program, inputs, config=CONFIG):
            return self.found

        def dispatch_borrowed_timed(self, program, inputs, config=CONFIG):
            return self.found

        def compile_native(self, program, config=CONFIG):
            return self.found

        def device_profile(self):
            return None

        def download_resident(self, resource):
            return self.found

        def download_resident_range(self, resource, byte_offset, byte_len):
            return self.found

    loose = Loose(b"four")
    resource = Resource(backend="plain", id=1, generation=1, byte_len=8)
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: loose.dispatch_async(PROGRAM, [X]), "from 'dispatch_async', expected a PendingDispatch"),
        (lambda: loose.dispatch_borrowed_timed(PROGRAM, [X]), "expected a TimedDispatchResult"),
        (lambda: compile(loose, PROGRAM), "a value of type bytes from 'compile_native', expected a CompiledPipeline"),
        (loose.device_profile, "None from 'device_profile', expected a DeviceProfile"),
        (lambda: loose.download_resident(resource), "4 bytes for 'contents', 8 are declared"),
        (lambda: loose.download_resident_into(resource, bytearray(8)), "4 bytes for 'contents', 8 are declared"),
        (lambda: loose.download_resident_range(resource, 0, 5), "4 bytes for 'contents', 5 are declared"),
    ]
    for call, reason in calls:
        with pytest.raises(InvalidOutput) as caught:
            call()
        assert reason in str(caught.value)


def test_over_resident_memory_of_the_host() -> None:
    class Hosted(HostMemoryBackend, contract=1):
        def id(self) -> str:
            return "hosted"

        def dispatch(self, program, inputs, config=CONFIG):
            return [bytes(4)]

    with program("copy", workgroup_size=4) as p:
        a = p.read("a", u32)
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)]
    hosted = Hosted()
    held = [hosted.allocate_resident(40), hosted.allocate_resident(40)]
    with pytest.raises(BackendError, match="backend 'hosted' returned 4 bytes for 'out', 40 are declared"):
        hosted.dispatch_resident(p.build(), held)


def test_a_pending_dispatch_is_checked_when_it_is_awaited() -> None:
    pending: PendingDispatch = OwnWays([b""]).dispatch_async(PROGRAM, [X])
    assert pending.is_ready()
    for _ in range(2):
        with pytest.raises(InvalidOutput):
            pending.await_result()


def test_inputs_that_do_not_fit_do_not_reach_the_backend() -> None:
    broken = Program("broken", (), (0, 1, 1), ())
    with pytest.raises(InvalidProgram):
        Plain([]).dispatch(broken, [])
    plain = Plain(None)
    for inputs in ([], [X, X], [X.view("u1")[:-1]]):
        with pytest.raises(InvalidInput):
            plain.dispatch(PROGRAM, inputs)
        with pytest.raises(InvalidInput):
            plain.dispatch_async(PROGRAM, inputs)
        with pytest.raises(InvalidInput):
            compile(OwnWays(None), PROGRAM).dispatch(inputs)


def test_a_delegate_adds_no_check_and_the_engine_has_none() -> None:
    """A check would be a function around the method."""
    from vyre_driver.engine.backend import EngineBackend

    for kind in (EngineBackend, ShadowedBackend):
        for name in ("dispatch", "dispatch_borrowed", "dispatch_async", "compile_native"):
            assert not hasattr(getattr(kind, name), "__wrapped__")
    assert not EnginePipeline.checked
    assert hasattr(Plain.dispatch, "__wrapped__")
