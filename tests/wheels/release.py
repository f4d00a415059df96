"""Build every distribution as a release does, install them together, and write their bill of materials.

    python tests/wheels/release.py WORK_FOLDER

The folder then holds the sdists and wheels in `wheels/`, and `vyre.cdx.json`: a CycloneDX document that lists each
distribution of the workspace and everything that `vyre[all]` installs, with versions, licences and dependencies. It
describes the newest versions that the metadata allows on the day of the build.
"""

import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

from alone import ROOT, build, empty_environment, one, run

SPECIFICATION = "1.6"


def main(work: Path) -> int:
    shutil.rmtree(work, ignore_errors=True)
    wheels, document = work / "wheels", work / "vyre.cdx.json"
    members = sorted(folder.parent.name for folder in ROOT.glob("packages/*/pyproject.toml"))
    for member in members:
        build(member, wheels)

    python = empty_environment(work / "together")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    pins = work / "members.txt"
    pins.write_text("".join(f"{member} @ {one(wheels, member, 'whl').as_uri()}\n" for member in members), "utf-8")
    run(pip, "install", "--quiet", "--no-compile", "--find-links", wheels, "--constraint", pins, "vyre[all]", *members)
    run(pip, "check")

    list_parts = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--sv", SPECIFICATION]
    run(list_parts, "--pyproject", ROOT / "packages/vyre/pyproject.toml", "--output-file", document, python)
    bill = json.loads(document.read_text("utf-8"))
    bill["metadata"]["component"]["version"] = one(wheels, "vyre", "whl").name.split("-")[1]
    for reference in (found for part in bill["components"] for found in part.get("externalReferences", ())):
        if reference["url"].startswith(wheels.as_uri()):  # a file of this release, wherever it was built
            reference["url"] = reference["url"].rpartition("/")[2]
    check(bill, members)
    document.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", "utf-8")
    return 0


def check(bill: Any, members: list[str]) -> None:
    """The document names every distribution of the workspace and what each of them requires."""
    assert bill["specVersion"] == SPECIFICATION
    root = bill["metadata"]["component"]
    parts = {part["name"]: part for part in [root, *bill["components"]]}
    assert not set(members) - set(parts), f"not in the bill of materials: {sorted(set(members) - set(parts))}"
    edges = {entry["ref"]: entry.get("dependsOn", []) for entry in bill["dependencies"]}
    for member in members:
        project = tomllib.loads((ROOT / "packages" / member / "pyproject.toml").read_text("utf-8"))["project"]
        assert len(edges[parts[member]["bom-ref"]]) >= len(project["dependencies"]), f"{member}: dependencies missing"
    print(f"ok: {len(parts)} components")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
