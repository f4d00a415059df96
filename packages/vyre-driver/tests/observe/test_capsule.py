"""Replay capsules: they hold a dispatch, prove that no byte changed, and show the difference again."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.errors import BadCapsule, ShadowDiverged, Trapped
from vyre_driver.observe.capsule import (
    _COMMENT,
    _DIGITS,
    Capsule,
    _archive,
    _digest,
    read_capsule,
    write_capsule,
)
from vyre_driver.observe.replay import replay
from vyre_driver.observe.shadow import ShadowPolicy
from vyre_driver.observe.shadowed import ShadowedBackend
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.mock import MockBackend


def double(plan, memory) -> None:
    np.frombuffer(memory["out"], np.uint32)[:] = 2 * np.frombuffer(memory["a"], np.uint32)


def flipped(plan, memory) -> None:
    double(plan, memory)
    np.frombuffer(memory["out"], np.uint32)[3] ^= 1


@pytest.fixture
def capsule(doubling, words) -> Capsule:
    return Capsule(
        program=doubling,
        inputs={"a": words},
        config=DispatchConfig(grid_override=(2, 1, 1), ulp_budget=1, speculation=Preference.DISABLE, label="x"),
        backend="mine",
        backend_version="1.0",
        reference="reference",
        difference="out[3]: got 7, expected 6",
        outputs={"out": bytes(24)},
        reference_outputs={"out": b"\1" * 24},
    )


def test_what_is_written_is_read(capsule: Capsule, tmp_path: Path) -> None:
    path = write_capsule(tmp_path / "new", capsule)
    assert path.name.startswith("doubling-")
    assert path.name.endswith(".capsule.zip")
    assert read_capsule(path) == capsule


def test_equal_capsules_are_one_file(capsule: Capsule, tmp_path: Path) -> None:
    first = write_capsule(tmp_path, capsule)
    data = first.read_bytes()
    assert write_capsule(tmp_path, capsule) == first
    assert first.read_bytes() == data
    assert list(tmp_path.iterdir()) == [first]


def test_people_can_read_it_with_any_tool(capsule: Capsule, tmp_path: Path) -> None:
    with zipfile.ZipFile(write_capsule(tmp_path, capsule)) as archive:
        assert archive.read("program.vyre").startswith(b"program doubling workgroup(4, 1, 1) {")
        assert archive.read("inputs/00") == capsule.inputs["a"]


def test_any_byte_that_changed_is_found(capsule: Capsule, tmp_path: Path) -> None:
    """Of the members, of their names, of what stands between them and behind them."""
    path = write_capsule(tmp_path, capsule)
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x20]) + whole[position + 1 :])
        with pytest.raises(BadCapsule, match="Fix: "):
            read_capsule(path)
    for changed in (whole[:-1], whole + b"x", b"x" + whole, whole[:50] + whole[51:]):
        path.write_bytes(changed)
        with pytest.raises(BadCapsule):
            read_capsule(path)
    path.write_bytes(whole)
    assert read_capsule(path) == capsule


def rewritten(path: Path, change: Callable[[dict[str, bytes]], object], compression: int = zipfile.ZIP_STORED) -> Path:
    """The capsule with other members, and the digest that belongs to them."""
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    change(members)
    with path.open("w+b") as file:
        if compression == zipfile.ZIP_STORED:
            _archive(file, members)
            return path
        with zipfile.ZipFile(file, "w", compression) as archive:
            for member, data in members.items():
                archive.writestr(member, data)
            archive.comment = _COMMENT + bytes(_DIGITS)
        digest = _digest(file)
        file.seek(-_DIGITS, 2)
        file.write(digest.encode())
    return path


def facts(**changes: object) -> Callable[[dict[str, bytes]], object]:
    def change(members: dict[str, bytes]) -> None:
        known = json.loads(members["capsule.json"]) | changes
        members["capsule.json"] = json.dumps({n: v for n, v in known.items() if v is not ...}).encode()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (facts(), ""),
        (facts(schema=1), "'schema': got 1, expected a whole number in 2 … 2"),
        (facts(backend=...), "there is no 'backend'"),
        (facts(backend=5), "'backend': got 5, expected a string"),
        (facts(difference=["a"]), "'difference': got a list, expected a string"),
        (facts(config=[]), "'config': got a list, expected an object"),
        (facts(config={"timeout": "long"}), "'timeout': got a string, expected a number"),
        (facts(config={"timeout": float("nan")}), "NaN is no number of JSON"),
        (facts(config={"timeout": -1}), "a number of seconds above 0"),
        (facts(config={"label": {}}), "'label': got an object, expected a string"),
        (facts(config={"grid_override": [1, 2]}), "three integers"),
        (facts(config={"grid_override": [1, 2, []]}), "three integers"),
        (facts(config={"speculation": "wild"}), "'wild' is not a valid Preference"),
        (facts(config={"cooperative": 1}), "'cooperative': got 1, expected true or false"),
        (facts(config={"colour": 1}), "no configuration has 'colour'"),
        (lambda members: members.update({"capsule.json": b"[" * 10**6}), "more than 32 brackets"),
        (lambda members: members.update({"capsule.json": b" " * 2**25}), "expected at most 16777216"),
        (lambda members: members.update({"capsule.json": b'{"schema": 2, "schema": 2}'}), "a name twice"),
        (lambda members: members.update({"capsule.json": b"\xff"}), "utf-8"),
        (lambda members: members.pop("capsule.json"), "capsule.json"),
        (lambda members: members.pop("program.bin"), "program.bin"),
        (lambda members: members.pop("inputs/00"), "inputs/00"),
        (lambda members: members.update({"inputs/01": b""}), "the program has no 'inputs/01'"),
        (lambda members: members.update({"../../etc/passwd": b""}), "the program has no '../../etc/passwd'"),
        (lambda members: members.update({"program.bin": b"noise"}), "expected b'VYRE'"),
    ],
)
def test_a_digest_that_was_computed_again_makes_no_capsule(
    change: Callable[[dict[str, bytes]], object], message: str, capsule: Capsule, tmp_path: Path
) -> None:
    path = rewritten(write_capsule(tmp_path, capsule), change)
    if not message:
        assert read_capsule(path) == capsule
        return
    with pytest.raises(BadCapsule, match=re.escape(message)):
        read_capsule(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_nothing_is_unpacked(compression: int, capsule: Capsule, tmp_path: Path) -> None:
    """A megabyte that becomes a gigabyte is refused before it does."""
    path = rewritten(
        write_capsule(tmp_path, capsule), lambda members: members.update({"inputs/00": bytes(2**24)}), compression
    )
    with pytest.raises(BadCapsule, match="is compressed"):
        read_capsule(path)


@pytest.mark.parametrize("content", [b"", b"noise", b"PK\x05\x06" + bytes(18)])
def test_a_file_that_is_no_capsule(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    with pytest.raises(BadCapsule):
        read_capsule(path)
    with pytest.raises(BadCapsule):
        read_capsule(tmp_path / "missing.zip")


# ── from a divergence to its replay ──


def test_a_divergence_leaves_a_capsule_that_shows_it_again(doubling, words, tmp_path: Path) -> None:
    mine, reference = FullBackend(flipped, "mine"), MockBackend(double, "reference")
    backend = ShadowedBackend(mine, reference, ShadowPolicy(capsules=tmp_path))
    with pytest.raises(ShadowDiverged) as caught:
        backend.dispatch(doubling, [words], DispatchConfig(label="x", timeout=5.0))
    path = Path(caught.value.fields["capsule"])
    assert f"`vyre replay {path}`" in caught.value.fix
    capsule = read_capsule(path)
    assert capsule.config == DispatchConfig(label="x")
    again = replay(capsule, mine, reference)
    assert (again.now, again.then, again.since) == (capsule.difference, capsule.difference, "")
    assert not again.agrees


def test_a_repaired_backend_agrees_now(capsule: Capsule) -> None:
    again = replay(capsule, FullBackend(double, "mine"), MockBackend(double, "reference"))
    assert again.agrees
    assert again.since.startswith("out[1]: got 2")


def test_a_capsule_of_a_trap(doubling, words, tmp_path: Path) -> None:
    def trap(plan, memory) -> None:
        raise Trapped("bad", 7, 3)

    mine, reference = FullBackend(trap, "mine"), MockBackend(double, "reference")
    with pytest.raises(ShadowDiverged) as caught:
        ShadowedBackend(mine, reference, ShadowPolicy(capsules=tmp_path)).dispatch(doubling, [words])
    capsule = read_capsule(Path(caught.value.fields["capsule"]))
    assert capsule.outputs == {}
    assert len(capsule.reference_outputs["out"]) == 24
    again = replay(capsule, mine, reference)
    assert again.now == "got invocation 3 trapped with 'bad', code 7, expected 1 outputs"
    assert replay(capsule, mine, MockBackend(trap, "reference")).agrees


def test_a_capsule_that_cannot_be_written_hides_no_difference(
    doubling, words, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    mine, reference = FullBackend(flipped, "mine"), MockBackend(double, "reference")
    backend = ShadowedBackend(mine, reference, ShadowPolicy(capsules=tmp_path / "file" / "folder"))
    with pytest.raises(ShadowDiverged):
        backend.dispatch(doubling, [words])
    assert any("the capsule cannot be written" in line for line in caplog.messages)
