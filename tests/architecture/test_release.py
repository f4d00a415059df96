"""What a release promises: one version, types in every package, a citation, attested uploads without tokens."""

import re
from pathlib import Path
from typing import Any

VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def sources(root: Path, name: str) -> Path:
    return root / "packages" / name / "src" / name.replace("-", "_")


def test_all_distributions_have_one_version(root: Path, projects: dict[str, Any]) -> None:
    stated = {
        name: root / "packages" / name / project["tool"]["hatch"]["version"]["path"]
        for name, project in projects.items()
    }
    versions = {name: VERSION.findall(file.read_text("utf-8")) for name, file in stated.items()}
    assert len(versions) >= 10
    assert len({tuple(found) for found in versions.values()}) == 1, versions
    assert len(versions["vyre"]) == 1


def test_every_package_has_types(root: Path, projects: dict[str, Any]) -> None:
    assert [name for name in projects if not (sources(root, name) / "py.typed").is_file()] == []


def test_the_citation_has_what_its_format_requires(root: Path) -> None:
    lines = (root / "CITATION.cff").read_text("utf-8").splitlines()
    top = dict(line.split(":", 1) for line in lines if re.match(r"[a-z-]+:", line))
    assert {"cff-version", "message", "title", "authors"} <= set(top)
    assert top["cff-version"].strip() == "1.2.0"
    (version,) = VERSION.findall((sources(root, "vyre") / "__init__.py").read_text("utf-8"))
    assert top["version"].strip() == version
    assert "  - name: The vyre authors" in lines


def test_a_release_is_attested_and_uploaded_without_a_token(root: Path) -> None:
    workflow = (root / ".github/workflows/release.yml").read_text("utf-8")
    build, publish = workflow.split("\n  publish:\n")
    assert "actions/attest-build-provenance@" in build
    assert {"attestations: write", "id-token: write"} <= {line.strip() for line in build.splitlines()}
    assert "pypa/gh-action-pypi-publish@" in publish
    assert "id-token: write" in publish
    assert not re.search(r"secrets\.|password:|token: \$", workflow)
