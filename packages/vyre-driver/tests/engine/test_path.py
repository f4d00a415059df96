"""The files of the engine that a dispatch enters, in order.

A call enters a file if its caller is in another one; a return enters nothing. Entries into one file that follow each
other count once, as those of a loop over outputs.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import vyre_driver.engine
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.testing.fake_port import FakeMemory, FakePort
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

from .conftest import over_arrays

FOLDER = Path(vyre_driver.engine.__file__).parent
ORDER = (
    *(
        "artifact",
        "backend",
        "dispatcher",
        "sequence",
        "session",
        "launch_cache",
        "launch_request",
        "cached_launch",
        "bind",
        "launch",
        "transfer",
    ),
    *("buffer_pool", "resident", "device", "code", "lowering", "traced", "port", "pending"),
)
DATA = np.arange(6, dtype=np.uint32)
CONFIG = DispatchConfig()
SOON = DispatchConfig(timeout=60.0)


class SharingPort(FakePort):
    """A device that works in the memory of the host."""

    shares_host_memory = True

    def in_place(self, data: memoryview) -> FakeMemory:
        return FakeMemory(memoryview(data).cast("B"), is_foreign=True)


def counting() -> Program:
    """Two outputs, of which one is known to be written everywhere."""
    with program("counting", 4) as p:
        a = p.read("a", u32)
        out, rest = p.write("out", u32, like=a), p.write("rest", u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] + 1
        rest[0] = a[i]
    return p.build()


def scaling(factor: int = 2) -> Program:
    """One input, and one output that is written everywhere."""
    with program("scaling", 4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] * factor
    return p.build()


def compute(x: Mapping[str, Any]) -> None:
    """Something for every program: only the way there counts."""
    x["out"][:] = x["a"]


@pytest.fixture(params=[FakePort, SharingPort], ids=["copies", "in place"])
def backend(request: pytest.FixtureRequest) -> Iterator[EngineBackend]:
    found = EngineBackend("fake", lambda: request.param(over_arrays(compute)))
    yield found
    found.shutdown()


def entries(call: Callable[[], object]) -> list[tuple[str, str]]:
    """The entries of a call, each with the file that the caller is in, or ""."""
    found: list[tuple[str, str]] = []

    def file(frame: FrameType | None) -> str:
        place = None if frame is None else Path(frame.f_code.co_filename)
        return "" if place is None or place.parent != FOLDER else place.stem

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (entered := file(frame)) and entered != (caller := file(frame.f_back)):
            found.append((caller, entered))

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(previous)
    return found


def path(call: Callable[[], object]) -> list[str]:
    """The files that the second of two calls enters, in order."""
    call()
    return [file for file, _ in groupby(entered for _, entered in entries(call))]


def test_every_file_has_its_place() -> None:
    assert sorted(ORDER) == sorted(file.stem for file in FOLDER.glob("*.py") if file.stem != "__init__")


def backwards(call: Callable[[], object]) -> set[tuple[str, str]]:
    """The calls from a file to another one that comes before it in `ORDER`."""
    return {
        (caller, entered) for caller, entered in entries(call) if caller and ORDER.index(caller) > ORDER.index(entered)
    }


RESIDENT = ["backend", "dispatcher", "session", "launch_cache", "launch_request", "launch", "port"]
FROM_HOST = [*RESIDENT[:-1], "transfer", "buffer_pool", "port"]
COPIED = [*RESIDENT[:-1], "transfer", "device", "transfer", "device"]


def test_a_dispatch_enters_each_file_once(backend: EngineBackend) -> None:
    """Where bytes are copied, it enters `transfer` for the upload and for the readback."""
    source, pipeline = scaling(), backend.compile_native(scaling())
    calls: list[Callable[[], object]] = [
        lambda: backend.dispatch_arrays(source, {"a": DATA}),
        lambda: pipeline.dispatch_arrays({"a": DATA}),
        lambda: backend.dispatch(source, [DATA]),
        lambda: pipeline.dispatch([DATA]),
        lambda: backend.dispatch_borrowed_into(source, [DATA], CONFIG, [bytearray(24)]),
    ]
    with backend.session() as device:
        is_in_place = device.port.shares_host_memory
    assert [path(call) for call in calls] == [FROM_HOST if is_in_place else COPIED] * len(calls)


def test_a_dispatch_over_resident_memory_enters_each_file_once(backend: EngineBackend) -> None:
    pipeline = backend.compile_native(scaling())
    given, made = backend.allocate_resident(24), backend.allocate_resident(24)
    assert path(lambda: pipeline.dispatch_resident([given, made])) == RESIDENT


def test_no_warm_call_goes_back(backend: EngineBackend) -> None:
    """A warm call of any kind calls files that come later in `ORDER` than its own."""
    source, pipeline = counting(), backend.compile_native(counting())
    resources = [backend.allocate_resident(24) for _ in range(3)]
    steps = [ResidentDispatchStep(program=source, resources=tuple(resources)) for _ in range(3)]
    ranges = [ResidentReadRange(resource=resources[1], byte_offset=0, byte_len=24)]
    calls: list[Callable[[], object]] = [
        lambda: backend.dispatch_arrays(source, {"a": DATA}, SOON),
        lambda: backend.dispatch_borrowed_timed(source, [DATA]),
        lambda: backend.dispatch_borrowed_into(source, [DATA], SOON, []),
        lambda: backend.dispatch_async(source, [DATA]).await_result(),
        lambda: pipeline.dispatch_batched([[DATA]] * 3),
        lambda: pipeline.dispatch_batched_into([[DATA]] * 3, None, []),
        lambda: pipeline.dispatch_resident(resources, SOON),
        lambda: backend.dispatch_resident_timed(source, resources),
        lambda: backend.dispatch_resident_repeated_sequence_read_ranges_into([], steps, 4, ranges, [bytearray(24)]),
        lambda: backend.dispatch_resident_sequence_read_ranges_timed_into(steps, ranges, [bytearray(24)]),
    ]
    for number, call in enumerate(calls):
        call()
        assert (number, backwards(call)) == (number, set())


def test_no_first_call_on_an_open_device_goes_back(backend: EngineBackend) -> None:
    backend.prepare()
    given, made = backend.allocate_resident(24), backend.allocate_resident(24)
    step = ResidentDispatchStep(program=scaling(7), resources=(given, made))
    calls: list[Callable[[], object]] = [
        lambda: backend.compile_native(scaling(3)),
        lambda: backend.precompile([scaling(4), scaling(5)]),
        lambda: backend.dispatch_arrays(scaling(6), {"a": DATA}),
        lambda: backend.dispatch_resident_sequence_read_ranges_into([step, step], [], []),
        lambda: backend.dispatch_resident_timed(scaling(8), [given, made]),
    ]
    for number, call in enumerate(calls):
        assert (number, backwards(call)) == (number, set())
