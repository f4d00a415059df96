"""From source text to code of an architecture, through NVRTC: it needs neither a driver nor a GPU."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from vyre_driver.errors import KernelCompileFailed
from vyre_driver_cuda.api import BACKEND, nvrtc
from vyre_driver_cuda.architecture import Architecture

if TYPE_CHECKING:
    from vyre_driver_cuda.emit import CudaSource

NAME = "kernels.cu"
HEADERS = ("cuda_fp16.h", "cuda_bf16.h", "cooperative_groups.h")

_logger = logging.getLogger("vyre.cuda.compiler")
_POSITION = re.compile(rf"^{re.escape(NAME)}\((\d+)\):", re.MULTILINE)


class BuildFailed(Exception):
    """The compiler's refusal: its whole `log`, and the `lines` that it names, counted from 1, in its order."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log
        self.lines = tuple(dict.fromkeys(map(int, _POSITION.findall(log))))


@dataclass(frozen=True, slots=True)
class Compiled:
    """Code for one architecture: machine code in `cubin`, an ELF file, and `ptx`, from which it was made."""

    cubin: bytes
    ptx: str
    log: str = ""


def compile_text(text: str, architecture: Architecture, options: tuple[str, ...] = ()) -> Compiled:
    """Compile for GPUs of one architecture, or raise `BuildFailed`. Equal arguments give equal bytes."""
    api = nvrtc()
    headers, names = _headers()
    status, program = api.nvrtcCreateProgram(text.encode(), NAME.encode(), len(names), headers, names)
    _require(status)
    try:
        words = [f"--gpu-architecture={architecture}".encode(), *(option.encode() for option in options)]
        (status,) = api.nvrtcCompileProgram(program, len(words), words)
        log = _text(api.nvrtcGetProgramLogSize, api.nvrtcGetProgramLog, program)
        if status != api.nvrtcResult.NVRTC_SUCCESS:
            raise BuildFailed(log or status.name)
        if log:
            _logger.debug("%s", log)
        cubin = _bytes(api.nvrtcGetCUBINSize, api.nvrtcGetCUBIN, program)
        return Compiled(cubin, _text(api.nvrtcGetPTXSize, api.nvrtcGetPTX, program), log)
    finally:
        api.nvrtcDestroyProgram(program)


def compile_unit(unit: CudaSource, architecture: Architecture) -> Compiled:
    """Compile a unit.

    Raises:
        KernelCompileFailed: The compiler refused it; the error has the log, the source, and the statement behind the
            first line that the log names.
    """
    try:
        return compile_text(unit.text, architecture, unit.options)
    except BuildFailed as failure:
        place = unit.place(failure.lines[0]) if failure.lines else ""
        raise KernelCompileFailed(BACKEND, failure.log, source=unit.text, where=place) from failure


@cache
def _headers() -> tuple[list[bytes], list[bytes]]:
    """What emitted texts include: texts and names."""
    folder = files("vyre_driver_cuda") / "include"
    return [(folder / name).read_bytes() for name in HEADERS], [name.encode() for name in HEADERS]


def _bytes(size_of: Any, get: Any, program: Any) -> bytes:
    status, size = size_of(program)
    _require(status)
    buffer: bytes = b"\0" * size  # the bindings write into it
    (status,) = get(program, buffer)
    _require(status)
    return buffer


def _text(size_of: Any, get: Any, program: Any) -> str:
    return _bytes(size_of, get, program).decode("utf-8", "replace").rstrip("\0 \n")


def _require(status: Any) -> None:
    if status.value != 0:
        raise BuildFailed(f"NVRTC: {status.name}")
