"""The page of planted faults has every row of the table, and names cells that there are."""

import re
from pathlib import Path

from vyre_conform.controls import FAULTS
from vyre_conform.suite import Suite

PAGE = Path(__file__).parents[2] / "docs" / "planted-faults.md"
ROWS = re.findall(r"^\| `([^`]+)` \| (.+) \| `([^`]+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)


def test_every_fault_has_its_row() -> None:
    listed = [(fault, summary.replace("\\*", "*").replace("\\|", "|")) for fault, summary, _ in ROWS]
    wanted = [(fault.id, fault.summary) for fault in FAULTS]
    others = " ".join(sorted({fault for fault, _ in {*listed} ^ {*wanted}}))
    assert listed == wanted, f"Fix: write the rows of {PAGE.name}; `vyre-conform controls {others}` finds the cells"


def test_every_fault_is_found_by_a_cell_of_the_corpus() -> None:
    cells = {str(address) for spec in Suite().specs(0) for address in spec.cells}
    assert {cell for _, _, cell in ROWS} <= cells
