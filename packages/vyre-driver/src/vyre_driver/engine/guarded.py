"""The child of a `Guard`: it compiles one unit, and may die of it."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from vyre_driver.engine.ahead import run_once
from vyre_driver.engine.code import Code
from vyre_driver.engine.device import Device
from vyre_driver.engine.guard import Order
from vyre_driver.errors import BackendError
from vyre_driver.observe.metrics import Counters
from vyre_driver.pipeline.executable import Executable
from vyre_driver.pipeline.key import PipelineCacheKey
from vyre_foundation.wire import decode


def main(answer: str) -> None:
    """Do the order on standard input, and leave a binary, None or an error at the path `answer`."""
    try:
        given: bytes | BackendError | None = _compiled(pickle.load(sys.stdin.buffer))  # noqa: S301 - of our own parent
    except BackendError as error:
        given = error
    part = Path(answer + ".part")
    part.write_bytes(pickle.dumps(given))
    part.replace(answer)


def _compiled(order: Order) -> bytes | None:
    device = Device(order.open_port(), Counters(), lambda: None)
    try:
        module = device.port.compile(order.unit, order.queue)
        code = Code(PipelineCacheKey(""), Executable.from_bytes(order.executable), module)
        run_once(device, decode(order.program), order.config, code)
        return device.port.binary(module)
    finally:
        device.close()
