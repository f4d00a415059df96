"""Filetests: a program, a pass and what the pass makes of the program, in one file.

    // Values that no statement uses are removed.
    // pass: dead
    program p workgroup(8, 1, 1) { … }
    // becomes
    program p workgroup(8, 1, 1) { … }

The first line says what the case shows. A line ``// target: NAME`` may follow that of the pass. In the place of
``// becomes`` and what follows, ``// unchanged`` says that the pass gives the same program.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vyre_foundation.ir.program import Program
from vyre_foundation.testing.goldens import check_golden
from vyre_foundation.text import parse, print_program
from vyre_foundation.validate import validate

_FORM = re.compile(
    r"// (?P<doc>[^\n]+)\n// pass: (?P<name>[\w-]+)\n(?:// target: (?P<target>[\w-]+)\n)?"
    r"(?P<before>.*?)(?:// unchanged\n|// becomes\n(?P<after>.*))",
    re.DOTALL,
)

Apply = Callable[[str, Program, str], Program]
"""The pass by name, the program, and the target by name ("" if the file names none)."""


@dataclass(frozen=True, slots=True)
class Filetest:
    """The parts of a file. `after` is None where the pass changes nothing."""

    doc: str
    name: str
    target: str
    before: str
    after: str | None

    @classmethod
    def of(cls, text: str) -> Filetest:
        """The parts of `text`; `ValueError` if it has another form."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError(
                "this is no filetest. Fix: write the head and the parts as `vyre_foundation.testing.filetest` says"
            )
        return cls(found["doc"], found["name"], found["target"] or "", found["before"], found["after"])

    def __str__(self) -> str:
        target = f"// target: {self.target}\n" if self.target else ""
        result = "// unchanged\n" if self.after is None else f"// becomes\n{self.after}"
        return f"// {self.doc}\n// pass: {self.name}\n{target}{self.before}{result}"


def check_filetest(file: Path, apply: Apply, test: str) -> None:
    """Run the pass of a file and compare, or write the result into the file where findings are accepted.

    Args:
        file: Has a program, the name of a pass, and the program after it.
        apply: Runs a pass by its name, for a target by its name.
        test: The file of the test.

    Raises:
        AssertionError: The pass gives another program than the file has; the message is the difference.
        InvalidProgram: The result is not valid.
    """
    case = Filetest.of(file.read_text("utf-8"))
    source = parse(case.before)
    made = apply(case.name, source, case.target)
    validate(made, legalized=True)
    after = None if made is source else print_program(made)
    found = str(Filetest(case.doc, case.name, case.target, print_program(source), after))
    check_golden(file, found, test)
