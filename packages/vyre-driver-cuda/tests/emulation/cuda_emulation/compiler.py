"""Emitted CUDA C++ through the host's C++ compiler, with the words of CUDA defined beside it."""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
COMPILER = "g++"
STANDARD = ("-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden")
EXACT = ("-ffp-contract=off", "-fno-fast-math", "-fno-strict-aliasing")
"""As the language wants its floats. Buffers are read as whatever a kernel says they hold."""
CHECKED = (
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow,bounds,bool",
    "-fsanitize-recover=all",
)
"""What the compilers for GPUs leave open is an error here: the emitter may not rely on what one of them does."""
KERNEL = (
    *("-O1", "-w", *STANDARD, *EXACT, *CHECKED, f"-I{HERE}", "-include", str(HERE / "cuda_on_cpu.h")),
    *("-x", "c++", "-", "-nodefaultlibs", "-lgcc"),
)

WAITS = re.compile(r"__sync\w*\(|_sync\(|this_grid\(")
"""Words at which threads wait for each other."""
MEETS = re.compile(r"this_grid\(")
"""The words at which blocks do."""
_POSITION = re.compile(r"<stdin>:(\d+):")


class BuildFailed(Exception):
    """The compiler's refusal: its `log`, and the `lines` of the text that it names, counted from 1."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log
        self.lines = tuple(dict.fromkeys(map(int, _POSITION.findall(log))))


def build(text: str, kernels: tuple[str, ...]) -> bytes:
    """A shared library with the kernels of `text`, and which of them wait, or `BuildFailed`."""
    waiting, meeting = waits(text, kernels), waits(text, kernels, MEETS)
    ends = [f"CUDA_ENTRY({name})\n" for name in kernels]
    names = " ".join(f"{name}:{int(name in waiting)}:{int(name in meeting)}" for name in kernels)
    return _compiled(KERNEL, f'{text}{"".join(ends)}CUDA_KERNELS("{names}")\n')


@cache
def runtime() -> ctypes.CDLL:
    """The library that runs kernels, made once in a process. What kernels call is found in it."""
    text = (HERE / "runtime.cpp").read_text("utf-8")
    code = _compiled(("-O2", *STANDARD[:3], f"-I{HERE}", "-x", "c++", "-"), text)
    return loaded(code, mode=ctypes.RTLD_GLOBAL)


def loaded(code: bytes, mode: int = ctypes.RTLD_LOCAL) -> ctypes.CDLL:
    """The library made of these bytes; its file is gone when it is loaded."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(code)
        file.flush()
        return ctypes.CDLL(file.name, mode=mode)


def waits(text: str, kernels: tuple[str, ...], words: re.Pattern[str] = WAITS) -> frozenset[str]:
    """The kernels whose threads wait for each other. What stands before the first kernel may be used by all."""
    places = {name: found.start() for name in kernels if (found := re.search(rf"\b{re.escape(name)}\(", text))}
    starts = sorted(places.values())
    ends = dict(zip(starts, [*starts[1:], len(text)], strict=True))
    shared = words.search(text, 0, starts[0]) is not None
    return frozenset(name for name, start in places.items() if shared or words.search(text, start, ends[start]))


def _compiled(options: tuple[str, ...], text: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.so"
        command = [COMPILER, *options, "-o", str(library)]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildFailed(done.stderr)
        return library.read_bytes()
