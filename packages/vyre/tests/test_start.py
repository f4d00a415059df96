"""What a process imports that runs a kernel whose code is in the cache. Its modules are most of its time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """
import sys

import numpy as np

import vyre as vy


@vy.kernel(backend="cpu")
def masked(x: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n"]):
    i = vy.global_id(0)
    out[i] = x[i] ^ 5


x = np.arange(1024, dtype=np.uint32)
assert np.array_equal(masked(x), x ^ 5)
print(*sys.modules)
"""
COLD = """
    vyre_conform vyre_driver.codegen vyre_driver.legalization.forms
    vyre_driver.legalization.lowered vyre_driver.schedule vyre_driver.testing vyre_driver.vectorization
    vyre_driver_cpu.emit vyre_driver_cpu.printer vyre_driver_cpu.rows vyre_driver_cpu.vectors
    vyre_foundation.dialects.definition vyre_foundation.optimize
""".split()
"""What makes code, and what only kernels with calls, graphs or tests need."""
RARE = """
    argparse tomllib unittest xml vyre.kernels.explanation vyre.kernels.recording vyre_driver.engine.artifact
    vyre_driver.engine.sequence vyre_driver.engine.traced vyre_driver.graph.nodes vyre_driver.profiling
    vyre_driver.tune.programs vyre_driver.tune.tuner vyre_foundation.discovery.manifest
    vyre_foundation.validate.determinism.proof
""".split()
"""What few launches ask for."""
MOST = 272
"""Modules of vyre in such a process. It may be raised for modules that every launch uses."""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The modules of a process that finds the code that a process before it has stored."""
    script = tmp_path_factory.mktemp("start") / "script.py"
    script.write_text(KERNEL, "utf-8")
    environment = os.environ | {"VYRE_CACHE": "rw", "VYRE_CACHE_DIR": str(Path(script).parent / "cache")}
    first, second = [_imported(script, environment) for _ in range(2)]
    assert "vyre_driver_cpu.emit" in first, "the first process has compiled nothing"
    return second


def _imported(script: Path, environment: dict[str, str]) -> list[str]:
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_process_that_compiles_nothing_imports_no_compiler(modules: list[str]) -> None:
    assert not [name for name in modules if name.startswith(tuple(COLD))]


def test_it_imports_nothing_that_few_launches_need(modules: list[str]) -> None:
    assert not [name for name in modules for rare in RARE if name == rare or name.startswith(f"{rare}.")]


def test_it_imports_few_modules(modules: list[str]) -> None:
    assert len([name for name in modules if name.partition(".")[0].startswith("vyre")]) <= MOST
