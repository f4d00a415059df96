"""Decision records are numbered without holes, and every reference to one leads to one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "decisions"
RECORDS = sorted(file.stem for file in FOLDER.glob("[0-9]*.md"))
REFERENCE = re.compile(r"decisions/(\d{4}-[\w-]+)")


def test_numbers_have_no_holes() -> None:
    assert [int(name[:4]) for name in RECORDS] == list(range(1, len(RECORDS) + 1))


def test_the_index_lists_every_record_once() -> None:
    index = (FOLDER / "index.md").read_text("utf-8")
    assert re.findall(r"^\d{4}-[\w-]+$", index, re.MULTILINE) == RECORDS


def test_every_record_is_one_page_of_three_parts() -> None:
    for name in RECORDS:
        text = (FOLDER / f"{name}.md").read_text("utf-8")
        assert text.startswith(f"# {name[:4]}: ")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
        assert text.count("\n") <= 50


def test_every_reference_leads_to_a_record() -> None:
    folders = ("docs", "packages", "tests", "benchmarks", "examples")
    files = [*ROOT.glob("*.md"), *(file for folder in folders for file in (ROOT / folder).rglob("*.[mp][dy]"))]
    found = {name for file in files for name in REFERENCE.findall(file.read_text("utf-8"))}
    assert found
    assert found <= {*RECORDS}
