"""Loops that store past the caches: which ones do, exact results at all sizes and addresses, and when they do it."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.engine.port import SourceUnit
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.testing.agreement import outcome
from vyre_driver_cpu import launch, nontemporal
from vyre_driver_cpu.cpu import host
from vyre_driver_cpu.dialect import target_of
from vyre_driver_cpu.port import CpuPort
from vyre_driver_cpu.printer import print_module
from vyre_driver_cpu.spelling import spellings
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse
from vyre_foundation.validate import validate
from vyre_reference import ReferenceBackend

x86 = pytest.mark.skipif(not host().is_x86, reason="the fence is an instruction of x86-64")
LARGE = 4096
"""Bytes of results that bypass the caches here."""
STORING = {
    "a copy": ("u32", ["u32"], "out0[i] = x[i];"),
    "bytes": ("u8", ["u8"], "out0[i] = x[i] + 1;"),
    "halves": ("f16", ["f16"], "out0[i] = x[i] * 2.0;"),
    "doubles": ("f64", ["f64"], "out0[i] = x[i] + 1.0;"),
    "results of unlike sizes": ("u16", ["u16", "f64"], "out0[i] = x[i] + 1; out1[i] = f64(x[i]);"),
    "neighbours within bounds": ("f32", ["f32"], "out0[i] = x[i - 1] * 0.25 + x[i] * 0.5 + x[i + 1] * 0.25;"),
    "elements a line further": ("u32", ["u32"], "if i + 16 < len(out0) { out0[i + 16] = x[i]; }"),
    "elements within lines": ("u32", ["u32"], "if i + 3 < len(out0) { out0[i + 3] = x[i]; }"),
    "a selection": ("u32", ["u32"], "let a = x[i]; out0[i] = select(a & 1 == 0, a, i);"),
}
"""The type of what is read, those of the results, and what each invocation stores."""
PLAIN = {
    "in place": ("u32", ["u32"], "out0[i] = out0[i] + x[i];"),
    "a branch": ("u32", ["u32"], "if x[i] & 1 == 0 { out0[i] = x[i]; }"),
    "elements anywhere": ("u32", ["u32"], "out0[i] = x[x[i]];"),
    "results apart": ("u32", ["u32"], "if i * 2 < len(out0) { out0[i * 2] = x[i]; }"),
    "many results": ("u32", ["u32"] * 5, " ".join(f"out{n}[i] = x[i] + {n};" for n in range(5))),
    "much arithmetic": ("u32", ["u32"], f"out0[i] = {' ^ '.join(f'(x[i] * {n} >> {n})' for n in range(3, 19))};"),
}


def _program(given: str, results: list[str], body: str) -> Program:
    access = "read_write" if "= out0" in body else "write"
    outs = "\n".join(f"  {access} out{n}: {t}[len(x)] @{n + 1};" for n, t in enumerate(results))
    return parse(f"""\
program p workgroup(256, 1, 1) {{
  read x: {given}[] @0;
{outs}
  let i = global_id.x;
  if i < len(x) {{ {body} }}
}}
""")


def _text(program: Program, *, nontemporal: bool = True) -> str:
    words = spellings(has_half=True, vector_bits=512, nontemporal=nontemporal)
    text, _ = print_module(lowered_for(target_of("cpu", words), validate(program)), words)
    return text


@pytest.mark.parametrize("name", STORING)
def test_results_of_streams_may_bypass_the_caches(name: str) -> None:
    given, results, body = STORING[name]
    text = _text(_program(given, results, body))
    assert text.count("!nontemporal") == len(results)
    assert text.count(nontemporal.FENCE) == 1
    assert "!nontemporal" not in _text(_program(given, results, body), nontemporal=False)


@pytest.mark.parametrize("name", PLAIN)
def test_other_results_do_not(name: str) -> None:
    assert "!nontemporal" not in _text(_program(*PLAIN[name]))


class StoringPort(CpuPort):
    """The CPU of this process, taken for one that stores faster past the caches."""

    emitter_version = f"{CpuPort.emitter_version}, with non-temporal stores"

    def __init__(self) -> None:
        super().__init__()
        self._spellings = replace(self._spellings, nontemporal=True)


class ForgettingPort(StoringPort):
    """The same, but what bypasses the caches is not stored at all: the result shows which elements did."""

    emitter_version = f"{StoringPort.emitter_version}, which are left out"

    def emit(self, lowered: Lowered) -> SourceUnit:
        unit = super().emit(lowered)
        return replace(unit, text="\n".join(line for line in unit.text.splitlines() if "!nontemporal" not in line))


def _backend(port: type[CpuPort]) -> Iterator[VyreBackend]:
    backend = EngineBackend("cpu", port, version="of tests")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "past_caches", lambda: LARGE)
        patch.setattr(nontemporal, "LEAST_LINES", 1)
        yield backend
    backend.shutdown()


@pytest.fixture(scope="module")
def storing() -> Iterator[VyreBackend]:
    yield from _backend(StoringPort)


@pytest.fixture
def forgetting() -> Iterator[VyreBackend]:
    yield from _backend(ForgettingPort)


def _elements(program: Program, size: int) -> npt.NDArray[np.generic]:
    (kind,) = (b.dtype.numpy for b in program.buffers if b.name == "x")
    return np.random.default_rng(size).integers(1, 100, size).astype(kind)


def _config(size: int) -> DispatchConfig:
    return DispatchConfig(grid_override=(max(1, -(-size // 256)), 1, 1))


@x86
@pytest.mark.parametrize("size", [0, 1, 1000, 1023, 4095, 4096, 4111, 20_000])
@pytest.mark.parametrize("name", STORING)
def test_results_are_exact(name: str, size: int, storing: VyreBackend) -> None:
    program = _program(*STORING[name])
    x, config = _elements(program, size), _config(size)
    assert outcome(storing, program, [x], config) == outcome(ReferenceBackend(), program, [x], config)


@x86
@pytest.mark.parametrize(("size", "plain"), [(1000, 1000), (1023, 1023), (1024, 0), (5003, 11)])
def test_large_results_bypass_the_caches(size: int, plain: int, forgetting: VyreBackend) -> None:
    """All of a result below `LARGE` bytes is stored plainly, and of others what is left of the last line."""
    program = _program(*STORING["a copy"])
    x = _elements(program, size)
    out = np.frombuffer(forgetting.dispatch(program, [x], _config(size))[0], np.uint32)
    assert (out[size - plain :] == x[size - plain :]).all()
    assert (out[: size - plain] != x[: size - plain]).any() == (plain < size)


@x86
def test_results_that_begin_within_a_line_do_not(forgetting: VyreBackend) -> None:
    program = _program(*STORING["elements within lines"])
    x = _elements(program, 5000)
    out = np.frombuffer(forgetting.dispatch(program, [x], _config(5000))[0], np.uint32)
    assert (out[3:] == x[:-3]).all()
