"""Plain C and C++ through ctypes: `native/*`, compiled for this machine where there is a compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import numpy.typing as npt
from harness import NotHere

NATIVE = Path(__file__).parent / "native"
FLAGS = ("-O3", "-march=native", "-fopenmp", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC")
"""As the language wants it: products and sums are not contracted."""


def library(domain: str) -> ctypes.CDLL:
    source = NATIVE / f"{domain}.c"
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not source.exists():
        source, compiler = NATIVE / f"{domain}.cpp", shutil.which("g++") or shutil.which("c++")
    if not source.exists():
        raise NotHere("not written for this peer")
    if compiler is None:
        raise NotHere("no C compiler")
    parallel = ["-ltbb"] if source.suffix == ".cpp" and find_library("tbb") else []  # which parallel policies need
    with tempfile.TemporaryDirectory(prefix="bench-c-") as folder:
        path = Path(folder) / f"{domain}.so"
        command = [compiler, *FLAGS, "-o", path, source, "-lm", *parallel]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotHere(f"the C compiler failed: {done.stderr.strip().splitlines()[-1]}")
        return ctypes.CDLL(str(path))


def pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
