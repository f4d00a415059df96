"""Compiled programs as files: the same again, or refused."""

from dataclasses import replace

import pytest

from vyre_driver.errors import BadArtifact
from vyre_driver.pipeline.ahead import MAGIC, CompiledProgram
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.executable import Executable
from vyre_foundation.text import parse

EMPTY = Executable(declared=(), inputs=(), outputs=(), buffers={}, entries=(), schedule=(), traps=())
MADE = CompiledProgram(
    target="abacus-binary",
    device=("abacus", "ten fingers", "nature", "1", "Python 3"),
    program=parse("program p workgroup(4, 1, 1) {\n  write out: u32[4] @0;\n\n  out[global_id.x] = 7;\n}\n"),
    ulp_budget=2,
    codes=(("one", Artifact(EMPTY, "text", b"\0\1")), ("all", Artifact(EMPTY, "", b""))),
)


def test_bytes_give_the_same_compiled_program() -> None:
    data = MADE.to_bytes()
    assert CompiledProgram.from_bytes(data) == MADE
    assert MADE.backend == "abacus"


def test_every_byte_is_guarded() -> None:
    data = MADE.to_bytes()
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1
        with pytest.raises(BadArtifact, match=r"begin as one|those of its digest"):
            CompiledProgram.from_bytes(bytes(changed))


@pytest.mark.parametrize("cut", [0, 5, len(MAGIC), len(MAGIC) + 10, -1])
def test_a_file_that_was_cut(cut: int) -> None:
    with pytest.raises(BadArtifact, match="Fix: "):
        CompiledProgram.from_bytes(MADE.to_bytes()[:cut], "x.vyrec")


def test_another_device_is_told_field_by_field() -> None:
    MADE.require_device(MADE.device)
    with pytest.raises(BadArtifact, match="here is driver '2' instead of '1', compiler 'Python 4' instead"):
        MADE.require_device(("abacus", "ten fingers", "nature", "2", "Python 4"))


def test_code_that_any_device_of_a_kind_runs() -> None:
    named = replace(MADE, device=("abacus", "", "nature", "", ""))
    named.require_device(("abacus", "twelve fingers", "nature", "2", "Python 4"))
    with pytest.raises(BadArtifact, match="here is vendor 'craft' instead of 'nature'"):
        named.require_device(("abacus", "ten fingers", "craft", "1", "Python 3"))
