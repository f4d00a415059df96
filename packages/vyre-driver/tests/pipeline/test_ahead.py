"""Compiled programs as files: the same again, or refused."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from blake3 import blake3

from vyre_driver.errors import BadArtifact
from vyre_driver.pipeline.ahead import MAGIC, CompiledProgram, _parts
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.text import parse

EMPTY = ExecutableManifest(
    declared=("out",), inputs=(), outputs=("out",), buffers={}, entries=(), schedule=(), traps=()
)
MADE = CompiledProgram(
    target="abacus-binary",
    device=("abacus", "ten fingers", "nature", "1", "Python 3"),
    program=parse("program p workgroup(4, 1, 1) {\n  write out: u32[4] @0;\n\n  out[global_id.x] = 7;\n}\n"),
    ulp_budget=2,
    codes=(("one", Artifact(EMPTY, "text", b"\0\1")), ("all", Artifact(EMPTY, "", b""))),
)


def test_bytes_give_the_same_compiled_program() -> None:
    data = MADE.to_bytes()
    for given in (data, bytearray(data), memoryview(data)):
        assert CompiledProgram.from_bytes(given) == MADE
    assert MADE.backend == "abacus"


@pytest.mark.parametrize("given", ["text", None, 3])
def test_what_has_no_bytes_is_refused(given: Any) -> None:
    with pytest.raises(
        TypeMismatch, match=r"CompiledProgram.from_bytes got .*, expected bytes\. Fix: pass the contents"
    ):
        CompiledProgram.from_bytes(given)


def test_queues_with_one_code_share_it_in_the_file() -> None:
    (_, code), other = MADE.codes
    several = replace(MADE, codes=(("one", code), ("two", code), ("three", code), other, ("five", code)))
    data = several.to_bytes()
    assert CompiledProgram.from_bytes(data) == several
    assert data.count(code.to_bytes()) == 2


def test_every_byte_is_guarded() -> None:
    data = MADE.to_bytes()
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        with pytest.raises(BadArtifact, match=r"begin as one|another version of vyre|those of its digest"):
            CompiledProgram.from_bytes(bytes(changed))


@pytest.mark.parametrize("cut", [0, 5, len(MAGIC), len(MAGIC) + 10, -1])
def test_a_file_that_was_cut(cut: int) -> None:
    with pytest.raises(BadArtifact, match="Fix: "):
        CompiledProgram.from_bytes(MADE.to_bytes()[:cut], "x.vyrec")


def with_head(**changes: object) -> bytes:
    """The file with another head, and the digest that belongs to it."""
    _, *parts = _parts(MADE.to_bytes()[len(MAGIC) + 32 :])
    head = {"target": "x", "device": list(MADE.device), "ulp_budget": 2, "queues": ["one", "all"]}
    head |= {"dialects": []} | changes
    body = b"".join(len(part).to_bytes(8, "little") + part for part in (json.dumps(head).encode(), *parts))
    return MAGIC + blake3(body).digest() + body


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": 5}, "'target': got 5, expected a string"),
        ({"device": ["a"]}, "a device has 5 names, got 1"),
        ({"device": [1, 2, 3, 4, 5]}, "'device': got a list, expected a list of strings"),
        ({"ulp_budget": -1}, "'ulp_budget': got -1, expected a whole number"),
        ({"ulp_budget": True}, "'ulp_budget': got true, expected a whole number"),
        ({"queues": ["one"]}, "zip"),
        ({"queues": None}, "'queues': got null, expected a list"),
    ],
)
def test_a_digest_that_was_computed_again_makes_no_artifact(changes: dict[str, object], message: str) -> None:
    CompiledProgram.from_bytes(with_head())
    with pytest.raises(BadArtifact, match=re.escape(message)):
        CompiledProgram.from_bytes(with_head(**changes))


def test_code_of_another_program_is_refused() -> None:
    other = replace(MADE, program=parse("program p workgroup(4, 1, 1) {\n  write other: u32[4] @0;\n}\n"))
    with pytest.raises(BadArtifact, match="the code for the queue 'one' is of another program"):
        CompiledProgram.from_bytes(other.to_bytes())


def test_another_device_is_told_field_by_field() -> None:
    MADE.require_device(MADE.device)
    with pytest.raises(BadArtifact, match="here is driver '2' instead of '1', compiler 'Python 4' instead"):
        MADE.require_device(("abacus", "ten fingers", "nature", "2", "Python 4"))


def test_code_that_any_device_of_a_kind_runs() -> None:
    named = replace(MADE, device=("abacus", "", "nature", "", ""))
    named.require_device(("abacus", "twelve fingers", "nature", "2", "Python 4"))
    with pytest.raises(BadArtifact, match="here is vendor 'craft' instead of 'nature'"):
        named.require_device(("abacus", "ten fingers", "craft", "1", "Python 3"))
