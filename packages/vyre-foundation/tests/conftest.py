"""Goldens: files of expected text. `pytest packages/vyre-foundation/tests --accept-goldens` writes them anew.

`VYRE_ACCEPT=1` does the same where several packages are tested at once.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from blake3 import blake3

from vyre_foundation.testing.goldens import check_golden

GOLDENS = Path(__file__).parent / "goldens"

Golden = Callable[[str, str], None]
Seal = Callable[[bytes], bytes]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept-goldens", action="store_true", help="write golden files anew, and fail no comparison")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare text with a file in `goldens/`, or write the file where goldens are accepted."""
    accept = request.config.getoption("--accept-goldens", default=False) or None

    def compare(name: str, text: str) -> None:
        check_golden(GOLDENS / name, text, request.path, accept=accept)

    return compare


@pytest.fixture(scope="session")
def seal() -> Seal:
    """A payload with the header that belongs to it."""
    return lambda payload: b"VYRE\x01\x00" + blake3(payload).digest() + payload


@pytest.fixture
def instructions() -> Iterator[Callable[[Callable[[], Any]], int]]:
    """How many bytecode instructions a function runs: a measure of time that does not depend on the machine.

    Nothing is collected meanwhile: the callbacks of weak references are Python too, and the 100,000 nodes of another
    test's program would be counted here.
    """

    def count(function: Callable[[], Any]) -> int:
        total = 0

        def enter(frame: FrameType, event: str, _: Any) -> Any:
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return step

        def step(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal total
            if event == "opcode":
                total += 1
            return step

        before = sys.gettrace()
        sys.settrace(enter)
        try:
            function()
        finally:
            sys.settrace(before)
        return total

    gc.disable()
    yield count
    gc.enable()
