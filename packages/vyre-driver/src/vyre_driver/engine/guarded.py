"""The child of a `Guard`: it compiles one unit, and may die of it."""

from __future__ import annotations

import faulthandler
import pickle
from pathlib import Path

from vyre_driver import process
from vyre_driver.engine.ahead import run_once
from vyre_driver.engine.code import Code
from vyre_driver.engine.device import Device
from vyre_driver.engine.guard import ANSWER, ORDER, Order
from vyre_driver.errors import BackendError
from vyre_driver.observe.metrics import Counters
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_driver.pipeline.key import PipelineCacheKey
from vyre_foundation.wire import decode

GRACE = 5.0
"""Seconds after which a child ends itself whose parent should have ended it."""


def main(folder: str, seconds: float) -> None:
    """Do the order in `folder`, and leave a binary, None or an error there. The parent waits for `seconds`."""
    process.end_with_parent()
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True)  # also where a compiler holds the interpreter's lock
    order, answer = Path(folder) / ORDER, Path(folder) / ANSWER
    try:
        given: bytes | BackendError | None = _compiled(pickle.loads(order.read_bytes()))  # noqa: S301 - of our own parent
    except BackendError as error:
        given = error
    part = answer.with_suffix(".part")
    part.write_bytes(pickle.dumps(given))
    part.replace(answer)


def _compiled(order: Order) -> bytes | None:
    device = Device(order.open_port(), Counters(), lambda: None)
    try:
        module = device.port.compile(order.unit, order.queue)
        code = Code(PipelineCacheKey(""), ExecutableManifest.from_bytes(order.executable), module)
        run_once(device, decode(order.program), order.config, code)
        return device.port.binary(module)
    finally:
        device.close()
