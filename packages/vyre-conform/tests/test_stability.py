"""Nothing that is kept or sent depends on how Python hashes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import vyre_conform.stability
from vyre_conform.controls import mutants
from vyre_conform.stability import QUERIES, SEEDS, Digests, digests, sweep
from vyre_driver.registry.aot import registered_aot_emitters
from vyre_driver.registry.backends import unregister


@pytest.fixture
def engine() -> Iterator[str]:
    """Opened by a name that registers it, as in a process of its own."""
    yield "vyre_conform.controls.mutants:engine-generous"
    unregister(getattr(mutants, "engine-generous").id)


def test_processes_with_other_hashes_agree(engine: str) -> None:
    (parts,) = {tuple(one) for one in digests(["corpus:traps:run=one"], [], [engine]).values()}
    assert parts == ("wire", "optimized", "inputs", f"key {engine}", f"source {engine}")
    assert swept(QUERIES[::2], engine) == {}


@pytest.mark.slow
def test_processes_with_other_hashes_agree_about_all_cases(engine: str) -> None:
    assert swept(QUERIES, engine) == {}


def swept(queries: Sequence[str], engine: str) -> dict[str, list[Digests]]:
    """What differs between two processes."""
    targets = [emitter.target for emitter in registered_aot_emitters() if emitter.target.endswith("-c")]
    return sweep(queries, targets=targets, backends=["reference", engine], seeds=SEEDS[:2])


def test_a_case_has_a_digest_of_everything() -> None:
    found = digests(["corpus:traps"], ["no such target"], ["reference"])
    assert set(found) == {f"corpus:traps:run={run}" for run in ("none", "one", "lowest_of_several", "other_statement")}
    (parts,) = {tuple(one) for one in found.values()}
    assert parts == ("wire", "optimized", "inputs", "no such target", "key reference")
    one = found["corpus:traps:run=one"]
    assert one["no such target"] == "UnsupportedFeature"
    assert len(one["wire"]) == 64
    assert one["inputs"] != found["corpus:traps:run=none"]["inputs"]


def test_an_order_that_hashing_decides_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if the wire form were written in the order of a set."""
    (tmp_path / "unstable.py").write_text(
        "from vyre_conform import stability\n"
        "whole = stability.digest_of\n"
        "stability.digest_of = lambda *parts: whole(*parts, repr({'a', 'b', 'c', 'd', 'e', 'f'}).encode())\n"
        "stability.main(__import__('sys').argv[1:])\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(vyre_conform.stability, "__name__", "unstable")
    assert set(sweep(["corpus:traps:run=one"])) == {"corpus:traps:run=one"}
