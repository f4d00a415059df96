"""The process under Wine, from the side of Linux: it links code, keeps memory and calls functions."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from threading import RLock

from vyre_driver_cpu.cpu import Cpu

FOLDER = Path(__file__).parents[5] / "build" / "windows"
COMPILER, WINE, HOST, LIBRARY = "x86_64-w64-mingw32-gcc", "wine", "host.exe", "llvmlite.dll"
ARGUMENTS = 7


class _Command(IntEnum):
    LINK, UNLOAD, ALLOCATE, FREE, WRITE, READ, CALL, THREAD = range(8)


def missing() -> str:
    """What is not there of what a process needs; nothing if all is."""
    if shutil.which(WINE) is None:
        return "Wine is not installed"
    return "" if (FOLDER / LIBRARY).exists() and (FOLDER / HOST).exists() else f"{FOLDER} is not prepared"


class Process:
    """One process. It ends with this one, which closes its standard input."""

    def __init__(self, cpu: Cpu) -> None:
        quiet = {"WINEDEBUG": "-all", "WINEPREFIX": str(FOLDER / "prefix"), **os.environ}
        command = (WINE, HOST, LIBRARY)
        self._process = subprocess.Popen(
            command, cwd=FOLDER, env=quiet, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1 << 20
        )
        self.lock = RLock()
        for text in (cpu.triple, cpu.model, cpu.features):
            self._send_bytes(text.encode())

    def link(self, code: bytes, names: Sequence[str]) -> tuple[int, dict[str, int]]:
        """A library, for `unload`, and the addresses of its functions."""
        with self.lock:
            self._send(_Command.LINK)
            self._send_bytes(code)
            self._send(len(names))
            for name in names:
                self._send_bytes(name.encode())
            return self._number(), {name: self._number() for name in names}

    def unload(self, library: int) -> None:
        with self.lock:
            self._send(_Command.UNLOAD, library)

    def allocate(self, size: int) -> int:
        """Zeroed memory, on a page."""
        with self.lock:
            self._send(_Command.ALLOCATE, size)
            return self._number()

    def free(self, address: int) -> None:
        with self.lock:
            self._send(_Command.FREE, address)

    def write(self, address: int, data: bytes) -> None:
        with self.lock:
            self._send(_Command.WRITE, address)
            self._send_bytes(data)

    def read(self, address: int, size: int) -> bytes:
        with self.lock:
            self._send(_Command.READ, address, size)
            return self._receive(size)

    def call(self, function: int, *arguments: int) -> int:
        with self.lock:
            self._send(_Command.CALL, function, *arguments, *[0] * (ARGUMENTS - len(arguments)))
            return self._number()

    def start_thread(self, function: int, *arguments: int) -> None:
        with self.lock:
            self._send(_Command.THREAD, function, *arguments, *[0] * (ARGUMENTS - len(arguments)))

    def _send(self, *numbers: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(struct.pack(f"<{len(numbers)}q", *numbers))

    def _send_bytes(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._send(len(data))
        self._process.stdin.write(data)

    def _number(self) -> int:
        return int.from_bytes(self._receive(8), "little", signed=True)

    def _receive(self, size: int) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.flush()
        data = self._process.stdout.read(size)
        if len(data) < size:
            raise RuntimeError(f"the process under Wine has ended, with status {self._process.wait()}")
        return data
