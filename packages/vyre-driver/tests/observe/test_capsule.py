"""Replay capsules: they hold a dispatch, prove that no byte changed, and show the difference again."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.errors import BadCapsule, ShadowDiverged, Trapped
from vyre_driver.observe.capsule import Capsule, read_capsule, write_capsule
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


@pytest.mark.parametrize("name", ["program.bin", "inputs/00", "outputs/00", "reference/00"])
def test_a_byte_that_changed_is_found(name: str, capsule: Capsule, tmp_path: Path) -> None:
    path = write_capsule(tmp_path, capsule)
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    members[name] = members[name][:-1] + bytes([members[name][-1] ^ 1])
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    with pytest.raises(BadCapsule, match=f"{name} is missing or was changed. Fix: "):
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
