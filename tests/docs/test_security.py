"""What the threat model promises is shown by tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "SECURITY.md"
ATTACKS = ROOT / "tests" / "attack"


def rows(title: str) -> list[list[str]]:
    """The cells of the table below a title."""
    table = PAGE.read_text("utf-8").split(f"**{title}**")[1].strip().split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_each_line_names_tests_that_exist() -> None:
    for what, _, shown in rows("Not trusted"):
        names = [name for name in re.findall("`([^`]+)`", shown) if name.endswith(".py")]
        assert names, what
        for name in names:
            assert re.search("^def test_", (ROOT / name).read_text("utf-8"), re.MULTILINE), name


def test_each_attack_is_named() -> None:
    named = set(re.findall(r"`tests/attack/(\w+\.py)`", PAGE.read_text("utf-8")))
    assert named == {path.name for path in ATTACKS.glob("test_*.py")}


def test_each_trust_has_a_reason() -> None:
    for what, because in rows("Trusted"):
        assert what
        assert because


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", PAGE.read_text("utf-8")):
        assert (ROOT / target).exists(), target
