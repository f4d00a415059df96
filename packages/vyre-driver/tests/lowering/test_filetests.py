"""Every file below `filetests`: a program, a pass that lowers for a target, and what the pass makes of the program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vyre_driver.codegen.lower import KERNEL_PASSES, PROGRAM_PASSES
from vyre_driver.engine.lowering import named_passes, run_pass
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.testing.filetest import Filetest, check_filetest

LACKING = {
    "compare-exchange": lambda dialects: replace(
        dialects["full"].target(),
        atomics=frozenset((op, t) for op, t in dialects["full"].target().atomics if op is AtomicOp.COMPARE_EXCHANGE),
    ),
}
"""Targets that are dialects of the tests without something."""

FOLDER = Path(__file__).parent / "filetests"
FILES = sorted(FOLDER.rglob("*.vyre"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_the_pass_gives_what_the_file_says(file: Path, dialects) -> None:
    def apply(name: str, program: Program, target: str) -> Program:
        words = LACKING[target](dialects) if target in LACKING else dialects[target].target()
        return run_pass(named_passes(words)[name], program, words)

    assert file.parent.name == Filetest.of(file.read_text("utf-8")).name
    check_filetest(file, apply, __file__)


def test_every_pass_has_files() -> None:
    assert {file.parent.name for file in FILES} == {stage.name for stage in (*PROGRAM_PASSES, *KERNEL_PASSES)}
