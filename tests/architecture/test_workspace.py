"""Every distribution is wired everywhere: a new folder fails here until it is built, typed and guarded."""

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def workspace(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]


@pytest.fixture(scope="session")
def tox_environments(root: Path) -> set[str]:
    """Names of all environments of `tox.ini`, groups in braces spelled out."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(root / "tox.ini", "utf-8")
    sections = [section.removeprefix("testenv:") for section in tox.sections() if section.startswith("testenv:")]
    return {name for section in sections for name in spelled_out(section)}


def spelled_out(name: str) -> list[str]:
    match re.fullmatch(r"(.*)\{(.*)\}", name):
        case None:
            return [name]
        case group:
            return [group[1] + choice.strip() for choice in group[2].split(",")]


def test_ci_runs_every_environment_once(root: Path) -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(root / "tox.ini", "utf-8")
    labels = (names.partition("=")[2] for names in tox["tox"]["labels"].strip().splitlines())
    listed, labelled = (
        sorted(name for entry in re.split(r",(?![^{]*\})|\n", names) for name in spelled_out(entry.strip()) if name)
        for names in (tox["tox"]["env_list"], "\n".join(labels))
    )
    assert labelled == listed


def test_every_distribution_is_checked(workspace: dict[str, Any], projects: dict[str, Any]) -> None:
    packages = {name.replace("-", "_") for name in projects}
    assert set(workspace["importlinter"]["root_packages"]) == packages
    assert set(workspace["ruff"]["lint"]["isort"]["known-first-party"]) == packages
    assert set(workspace["mypy"]["files"]) == {f"packages/{name}/src" for name in projects}


def test_every_distribution_has_its_tox_environments(tox_environments: set[str], projects: dict[str, Any]) -> None:
    assert {f"wheel-{name}" for name in projects} <= tox_environments
    layers = {re.sub(r"^vyre-(driver-)?(?=.)", "", name) for name in projects}
    assert layers <= tox_environments, "one environment a layer, named as the layer"


def test_ci_calls_environments_that_exist(root: Path, tox_environments: set[str]) -> None:
    workflows = "".join(file.read_text("utf-8") for file in root.glob(".github/workflows/*.yml"))
    called = {name for names in re.findall(r"tox run -e (\S+)", workflows) for name in names.split(",")}
    assert called
    assert called <= tox_environments


def test_actions_are_pinned_by_digest(root: Path) -> None:
    used = [use for file in root.glob(".github/workflows/*.yml") for use in re.findall(r"uses: (.*)", file.read_text())]
    assert used
    loose = [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", use)]
    assert not loose, f"pin these by digest, with the version behind it: {loose}"


def test_the_front_page_keeps_its_two_commands(root: Path, workspace: dict[str, Any]) -> None:
    readme = (root / "README.md").read_text("utf-8")
    assert "pip install hatch && hatch run demo" in readme
    assert "pip install tox && tox" in readme
    assert workspace["hatch"]["envs"]["default"]["scripts"]["demo"].startswith("vyre demo")
    assert len(readme.splitlines()) <= 80
