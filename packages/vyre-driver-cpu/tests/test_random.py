"""Random programs, valid and free of races by construction: against the reference, and LLVM against itself."""

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.testing.agreement import outcome
from vyre_driver_cpu import compiler, port
from vyre_driver_cpu.ahead import assembly_ahead
from vyre_driver_cpu.backend import CpuBackend
from vyre_driver_cpu.compiler import compile_text
from vyre_foundation.testing import EVERYTHING, addressing, generate, row_walk

ADDRESSES_BEHIND_A_BRANCH = (100_043, 100_144)
"""Addresses that one of two branches computed, and that were used behind them."""


def slow(seeds: range) -> list[object]:
    return [pytest.param(seed, marks=pytest.mark.slow) for seed in seeds]


@pytest.mark.parametrize("seed", [*range(6), *ADDRESSES_BEHIND_A_BRANCH, *slow(range(6, 48))])
def test_a_random_program(agree, seed: int) -> None:
    drawn = generate(seed, EVERYTHING)
    config = DispatchConfig(grid_override=drawn.grid, fixpoint_iterations=drawn.iterations)
    agree(drawn.program, [drawn.inputs[buffer.name] for buffer in drawn.program.inputs], config)


@pytest.mark.parametrize("seed", [*range(96, 102), *slow(range(102, 144))])
def test_random_addresses(agree, seed: int) -> None:
    drawn = addressing(seed)
    agree(drawn.program, [drawn.inputs[b.name] for b in drawn.program.inputs], DispatchConfig(grid_override=drawn.grid))


@pytest.mark.parametrize("seed", [*range(4), *slow(range(4, 48))])
def test_random_loops_along_rows(agree, seed: int) -> None:
    drawn = row_walk(seed)
    agree(drawn.program, [drawn.inputs[b.name] for b in drawn.program.inputs], DispatchConfig(grid_override=drawn.grid))


def unoptimized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "compile_text", lambda text, cpu: compile_text(text, cpu, level=0))


def as_if_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "LONG_TEXT", 0)


@pytest.mark.parametrize("compiled", [unoptimized, as_if_long])
@pytest.mark.parametrize("seed", [*range(100, 103), *slow(range(103, 124))])
def test_the_optimizer_changes_no_bit(seed: int, compiled, backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second opinion of one text: what LLVM gives with fewer passes. Undefined behaviour would part them."""
    drawn = generate(seed, EVERYTHING)
    config = DispatchConfig(grid_override=drawn.grid, fixpoint_iterations=drawn.iterations, timeout=60.0)
    inputs = [drawn.inputs[buffer.name] for buffer in drawn.program.inputs]
    compiled(monkeypatch)
    monkeypatch.setenv("VYRE_CACHE", "off")
    plain = CpuBackend()
    try:
        expected = outcome(plain, drawn.program, inputs, config)
    finally:
        plain.shutdown()
    monkeypatch.undo()
    assert outcome(backend, drawn.program, inputs, config) == expected


def test_compilation_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM warns on stderr of advice that it cannot follow: this program has loops in chunks of unknown length."""
    drawn = addressing(228)
    assert assembly_ahead("host", drawn.program, DispatchConfig(grid_override=drawn.grid))
    assert capfd.readouterr() == ("", "")
