"""Instructions of the stages that are pure Python, counted by callgrind where valgrind is installed.

Run by itself it is the process that callgrind watches: it runs the stages one by one and says where each of them ends.
"""

from __future__ import annotations

import gc
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from harness import Case
from suites.ir import build, nodes

CASE = Case("statements", 1_000)
NOTHING = "nothing"
"""A stage that shows what the counting itself costs."""
TOOLS = ("valgrind", "callgrind_control")
INTERPRETER = f"Python {platform.python_version()} on {platform.machine()}"
"""Figures of different interpreters are not comparable."""


def per_node() -> dict[str, int] | None:
    """Instructions a node for each stage; None where the tools are missing."""
    if not all(map(shutil.which, TOOLS)):
        return None
    with tempfile.TemporaryDirectory(prefix="bench-callgrind-") as folder:
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(Path(__file__).parent)}
        subprocess.run([*command, sys.executable, __file__], env=environment, capture_output=True, check=True)
        totals = dict(filter(None, map(_total, Path(folder).glob("out.*"))))
    nothing, amount = totals.pop(NOTHING), nodes(build(CASE, 1))
    return {stage: round((total - nothing) / amount) for stage, total in sorted(totals.items())}


def _total(dump: Path) -> tuple[str, int] | None:
    """The stage that a dump belongs to, and its instructions."""
    text = dump.read_text("utf-8")
    stage, total = (
        re.search(pattern, text, re.MULTILINE) for pattern in (r"Trigger: dump (\w+)$", r"^summary: (\d+)$")
    )
    return (stage[1], int(total[1])) if stage and total else None


# ── the process that is watched ──────────────────────────────────────────────────────────────────────────────────────


def stages() -> Mapping[str, tuple[Callable[[int], Any], Callable[[Any], object]]]:
    """What each stage gets, made from a seed so that no cache has seen it, and what it does."""
    from vyre_driver import legalize
    from vyre_driver.testing.target import generous_target
    from vyre_foundation import decode, encode, fingerprint, validate
    from vyre_foundation.optimize import optimize

    target = generous_target()
    made = partial(build, CASE)
    return {
        NOTHING: (made, lambda program: None),
        "build": (lambda seed: seed, made),
        "validate": (made, validate),
        "encode": (made, encode),
        "decode": (lambda seed: encode(made(seed)), decode),
        "fingerprint": (made, fingerprint),
        "optimize": (lambda seed: validate(made(seed)), optimize),
        "legalize": (lambda seed: validate(made(seed)), lambda facts: legalize(facts.program, facts, target)),
    }


def watched() -> None:
    """Each stage once to have everything loaded, and once more to be counted: then it meets none of the expressions
    that it is to bring into being."""
    from vyre_foundation.ir.expr import interned_count

    seeds = count(1)
    for prepare, stage in stages().values():
        stage(prepare(next(seeds)))
    gc.disable()
    _tell("--instr=on")
    for name, (prepare, stage) in stages().items():
        given = prepare(next(seeds))
        interned_count()  # counts after it has swept
        _tell("--zero")
        stage(given)
        _tell(f"--dump={name}")


def _tell(what: str) -> None:
    subprocess.run(["callgrind_control", what, str(os.getpid())], capture_output=True, check=True)


if __name__ == "__main__":
    watched()
