"""Every file below `filetests`: a program, a pass of the optimizer, and what the pass makes of it."""

from pathlib import Path

import pytest

from vyre_foundation.ir.program import Program
from vyre_foundation.optimize import PASSES
from vyre_foundation.testing.filetest import Filetest, check_filetest
from vyre_foundation.validate import validate

FOLDER = Path(__file__).parent / "filetests"
FILES = sorted(FOLDER.rglob("*.vyre"))
STAGES = {stage.name: stage for stage in PASSES}


def apply(name: str, program: Program, target: str) -> Program:
    """The pass; what it gives is a fixed point of it."""
    made = STAGES[name].apply(program, validate(program))
    assert STAGES[name].apply(made, validate(made)) is made, "a second run of the pass changes the program again"
    return made


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_the_pass_gives_what_the_file_says(file: Path) -> None:
    assert file.parent.name == Filetest.of(file.read_text("utf-8")).name
    check_filetest(file, apply, __file__)


def test_every_pass_has_files() -> None:
    assert {file.parent.name for file in FILES} == set(STAGES)


CASE = "// A case.\n// pass: dead\n{before}// becomes\n{after}"
BEFORE = "program p workgroup(8, 1, 1) {\n  write out: u32[16] @0;\n\n  let x = 1;\n  out[0] = 2;\n}\n"
AFTER = BEFORE.replace("  let x = 1;\n", "")


def test_a_difference_is_shown_and_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VYRE_ACCEPT", raising=False)
    file = tmp_path / "case.vyre"
    file.write_text(CASE.format(before=BEFORE, after=BEFORE), "utf-8")
    with pytest.raises(AssertionError, match=r"case\.vyre differs\. .* accepts it\n(.*\n)*-  let x = 1;"):
        check_filetest(file, apply, __file__)
    monkeypatch.setenv("VYRE_ACCEPT", "1")
    check_filetest(file, apply, __file__)
    assert file.read_text("utf-8") == CASE.format(before=BEFORE, after=AFTER)
    monkeypatch.delenv("VYRE_ACCEPT")
    check_filetest(file, apply, __file__)


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "case.vyre"
    file.write_text(BEFORE, "utf-8")
    with pytest.raises(ValueError, match="this is no filetest"):
        check_filetest(file, apply, __file__)
