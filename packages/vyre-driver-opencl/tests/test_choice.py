"""The choice among spellings: every candidate is judged, the exact ones are timed, the fastest is printed."""

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyopencl as cl
import pytest

from vyre_driver.tune.candidate import TunedVariant, Variant
from vyre_driver.tune.spelling import timing_unit
from vyre_driver_opencl.compiler import BuildFailed
from vyre_driver_opencl.dialect import dialect_of
from vyre_driver_opencl.facts import DeviceFacts
from vyre_driver_opencl.opened import OpenedDevice, open_device
from vyre_driver_opencl.proof import choice
from vyre_driver_opencl.proof.bench import ProbeDevice
from vyre_driver_opencl.proof.choice import choose, time_variants
from vyre_driver_opencl.proof.rows import REFUSED, SpellingCandidates, examine
from vyre_driver_opencl.spelling import prelude
from vyre_foundation.dtype import f32, u32
from vyre_foundation.ops import OPS


@pytest.fixture(scope="module")
def opened(backend_id: str) -> OpenedDevice:
    opened = open_device(backend_id)
    opened.show()
    return opened


@pytest.fixture(scope="module")
def bench(opened: OpenedDevice) -> ProbeDevice:
    queue = cl.CommandQueue(opened.context, opened.queues[0])
    return ProbeDevice(opened.context, queue, prelude(opened.reported.extensions), opened.reported.options)


def test_every_candidate_is_judged(bench: ProbeDevice) -> None:
    def row(op: str, *candidates: str) -> SpellingCandidates[str]:
        return SpellingCandidates(op, u32, OPS[op].arity, u32, candidates, partial(OPS[op].evaluate, u32))

    good = row("add", "({0} + {1})", "({1} + {0})", "({0} - {1})")
    wrong = row("sub", "({1} - {0})", "({0} - {1})")
    unknown = row("mul", "no_such_function({0}, {1})", "neither({0})", "({0} * {1})")
    findings = examine(bench, [good, wrong, unknown])
    assert findings[good] == ("", "")  # a third is not looked at where one is exact
    assert findings[wrong] == ("gives 0x3 for 0x0, 0x3, not 0xfffffffd", "")
    assert findings[unknown] == (REFUSED, REFUSED, "")


def test_every_variant_gets_a_time(opened: OpenedDevice, bench: ProbeDevice) -> None:
    variants = [Variant("popcount", u32, text) for text in ("popcount({0})", None)]
    times = time_variants(bench, timing_unit(opened.dialect, variants))
    assert [*times] == variants
    assert all(time > 0 for time in times.values())
    assert time_variants(bench, timing_unit(opened.dialect, [])) == {}


def test_a_choice_changes_what_is_printed(
    opened: OpenedDevice, bench: ProbeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With scripted times: the composition wins one row, another word wins one, the third stays."""
    candidates = (
        TunedVariant(Variant("popcount", u32, "popcount({0})"), is_chosen=True),
        TunedVariant(Variant("popcount", u32, None)),
        TunedVariant(Variant("rotl", u32, "rotate({0}, {1})")),
        TunedVariant(Variant("rotl", u32, None), is_chosen=True),
        TunedVariant(Variant("floor", f32, "floor({0})"), is_chosen=True),
        TunedVariant(Variant("floor", f32, "wrong({0})"), "gives 0x1 for 0x2, not 0x3"),
        TunedVariant(Variant("floor", f32, None)),
    )
    ops = {("popcount", u32): "popcount({0})", ("floor", f32): "floor({0})"}
    proven = replace(opened.proven, ops=ops, candidates=candidates)
    times = {candidates[0]: 9.0, candidates[1]: 2.0, candidates[2]: 1.0, candidates[3]: 5.0, candidates[4]: 3.0}
    scripted = {one.variant: time for one, time in times.items()} | {candidates[6].variant: 4.0}
    monkeypatch.setattr(choice, "time_variants", lambda bench, unit: scripted)
    chosen = choose(bench, opened.dialect, proven)
    assert chosen.ops == {("rotl", u32): "rotate({0}, {1})", ("floor", f32): "floor({0})"}
    assert [one.is_chosen for one in chosen.candidates] == [False, True, True, False, True, False, False]
    assert [one.picoseconds for one in chosen.candidates] == [9.0, 2.0, 1.0, 5.0, 3.0, None, 4.0]
    table = dialect_of("opencl", opened.reported, chosen)
    assert ("popcount", u32) not in table.target().ops
    assert table.digest() != dialect_of("opencl", opened.reported, proven).digest()


def test_a_compiler_that_gives_up_changes_nothing(
    opened: OpenedDevice, bench: ProbeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gives_up(bench: ProbeDevice, unit: object) -> None:
        raise BuildFailed("too long")

    monkeypatch.setattr(choice, "time_variants", gives_up)
    assert choose(bench, opened.dialect, opened.proven) is opened.proven


def test_proofs_time_nothing(opened: OpenedDevice) -> None:
    assert opened.proven.candidates == ()


def test_a_device_is_measured_on_request(
    backend_id: str, opened: OpenedDevice, bench: ProbeDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole of it: thorough proofs, times, and the same answer out of the store without the device."""
    monkeypatch.setenv("VYRE_CACHE", "rw")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path))
    facts = DeviceFacts(backend_id, opened.device, opened.reported)
    facts.measure(bench)
    found = facts.proven
    chosen = Counter((c.variant.op, c.variant.operand) for c in found.candidates if c.is_chosen)
    assert set(chosen.values()) == {1}
    assert not any(c.is_chosen and c.wrong for c in found.candidates)
    spelled = {(c.variant.op, c.variant.operand): c.variant.text for c in found.candidates if c.is_chosen}
    assert {row: text for row, text in spelled.items() if text and row in found.ops} == dict(found.ops)
    timed = [c for c in found.candidates if c.picoseconds is not None]
    assert len(timed) > 40
    plain = opened.proven
    assert (found.floats, found.casts, found.atomics) == (plain.floats, plain.casts, plain.atomics)
    assert found.shown == plain.shown
    monkeypatch.setattr("vyre_driver_opencl.proof.prove_device", None)
    later = DeviceFacts(backend_id, opened.device, opened.reported)
    assert later.proven == found
    assert later.show(lambda: bench)
