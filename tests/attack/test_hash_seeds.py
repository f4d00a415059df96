"""Nothing that vyre makes depends on the order in which Python's hashes put things: 20 processes, each with a seed."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from typing import Any

CHILD = """
import sys
from dataclasses import replace
from hashlib import sha256
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.legalization.target import Groups
from vyre_driver.testing.target import generous_target
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.dialect import dialect_of
from vyre_driver_cuda.emit import emit
from vyre_foundation.errors import VyreError
from vyre_foundation.optimize import optimize
from vyre_foundation.testing import EVERYTHING, STRUCTURED, generate
from vyre_foundation.text import parse, print_program
from vyre_foundation.wire import encode

looping = replace(generous_target(), name="looping", groups=Groups.LOOPS, wide_indices=True)
dialect = dialect_of(Architecture.parse("sm_90"))
for number in range(int(sys.argv[1])):
    program = generate(number, (EVERYTHING, STRUCTURED)[number % 2]).program
    facts = program.validate()
    parts = [encode(program), program.fingerprint().encode(), print_program(program).encode()]
    parts += [str(kernel.program).encode() for kernel in lowered_for(looping, facts).kernels]
    parts += [emit(lowered_for(dialect.target(), facts), dialect).text.encode()]
    try:
        parse(print_program(program).replace("u32", "i32"))
    except VyreError as error:
        parts += [str(error).encode()]
    print(*(sha256(part).hexdigest()[:16] for part in parts))
"""


def test_twenty_processes_make_the_same(attacks: Any, bounded: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Wire form, fingerprint, text, kernels, source and the text of an error, of programs with everything."""
    draw = random.Random(attacks.seed)
    seeds = [0, 1, 2**32 - 1, *(draw.randrange(2, 2**32 - 1) for _ in range(attacks.count(17)))]
    made = set()
    for seed in seeds:
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = bounded(CHILD, "2", seconds=120, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        made.add(done.stdout)
    assert len(made) == 1, made
    assert len(made.pop().splitlines()) == 2
