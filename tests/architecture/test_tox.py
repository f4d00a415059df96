"""Environments in which backends are judged have what cases need: without an oracle a fault can survive unseen."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOX = ROOT / "tox.ini"


def read() -> ConfigParser:
    found = ConfigParser(interpolation=None)
    found.read(TOX, "utf-8")
    return found


def test_every_environment_that_judges_has_the_oracles() -> None:
    config = read()
    judging = [name for name in config.sections() if name.startswith(("testenv:conform-", "testenv:gpu"))]
    assert len(judging) >= 7
    assert [name for name in judging if "{[judges]deps}" not in config[name]["deps"].split()] == []


def test_the_oracles_are_mpfr_and_the_dialect_of_elementary_functions() -> None:
    deps = read()["judges"]["deps"]
    assert "-e packages/vyre-conform[oracle" in deps
    assert "-e packages/vyre-math" in deps


def test_jobs_run_every_shard_of_the_cases_of_which_one_environment_runs_a_part() -> None:
    assert re.search(r"--shard \{env:SHARD:1/\d+\}", read()["testenv:conform-all"]["commands"])
    jobs = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    shards = re.findall(r'python: "[\d.]+", shard: "(\d+/\d+)"', jobs)
    assert sorted(shards) == [f"{n}/{len(shards)}" for n in range(1, len(shards) + 1)]
    assert "SHARD: ${{ matrix.shard }}" in jobs
