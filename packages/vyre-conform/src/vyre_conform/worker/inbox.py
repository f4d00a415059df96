"""A child's side of the pipe from its parent: messages wait in a queue, and the child ends with the pipe."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
from typing import Any, BinaryIO

from vyre_conform.worker.protocol import Closed, receive

GRACE = 1.0
"""Seconds that an idle child has to give its device back when its parent has gone. A busy one ends after them."""
Message = tuple[dict[str, Any], list[bytes]]


class Inbox:
    """Reads messages in a thread, so that the end of the pipe is seen while something runs or hangs."""

    def __init__(self, stream: BinaryIO) -> None:
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(stream,), name="inbox", daemon=True).start()

    def take(self) -> Message | None:
        """The next message, None when the parent has closed its end or has gone."""
        return self._messages.get()

    def _read(self, stream: BinaryIO) -> None:
        with contextlib.suppress(Closed, OSError, ValueError):
            while True:
                self._messages.put(receive(stream))
        self._messages.put(None)
        time.sleep(GRACE)
        os._exit(1)


def private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The standard streams for the protocol alone: whatever else is printed goes to standard error."""
    commands, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return commands, answers
