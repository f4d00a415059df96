"""The attack suite: hostile input, damaged files, signals and injected faults. `tox -e attack` runs it.

Each file is one area. A test draws its attacks from a seeded generator, so a failure repeats; `--attack-scale`
multiplies how many attacks are made, and `--attack-seed` makes others.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("attack")
    group.addoption("--attack-scale", type=float, default=1.0, help="1: minutes, as in CI; 100: hours")
    group.addoption("--attack-seed", type=int, default=0, help="seed of every generator of attacks")


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.attack)


class Attacks:
    """The size and the seed of this run."""

    def __init__(self, scale: float, seed: int) -> None:
        self.scale, self.seed = scale, seed

    def count(self, in_ci: int) -> int:
        """The number of attacks for a test that makes `in_ci` of them in CI; at least 1."""
        return max(1, round(in_ci * self.scale))


def run_bounded(
    code: str,
    *arguments: str,
    seconds: float,
    megabytes: int | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run Python `code` in a child process.

    `seconds` bounds the wall time (`subprocess.TimeoutExpired`), `megabytes` the address space of the child. `env`
    replaces the environment. A negative return code is the signal that ended the child.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if megabytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, cwd=cwd, env=env, preexec_fn=limit, check=False
    )


@pytest.fixture
def attacks(request: pytest.FixtureRequest) -> Attacks:
    """How many attacks to make, and from which seed."""
    return Attacks(request.config.getoption("--attack-scale", 1.0), request.config.getoption("--attack-seed", 0))


@pytest.fixture
def bounded() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`run_bounded`: a child process with limits, for attacks that may end the process or exhaust it."""
    return run_bounded
