"""Environments in which backends are judged have what cases need: without an oracle a fault can survive unseen."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

TOX = Path(__file__).parents[2] / "tox.ini"


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


def test_ci_runs_every_environment_once() -> None:
    tox = read()["tox"]
    labelled = [names.partition("=")[2] for names in tox["labels"].strip().splitlines()]
    assert spelled_out(", ".join(labelled)) == spelled_out(", ".join(tox["env_list"].split("\n")))


def spelled_out(names: str) -> list[str]:
    """Names of environments, sorted, with groups in braces spelled out."""
    found: list[str] = []
    for name in re.findall(r"([^\s,{]+(?:\{[^}]*\})?)", names):
        first, _, group = name.rstrip("}").partition("{")
        found += [first + choice.strip() for choice in group.split(",")]
    return sorted(found)
