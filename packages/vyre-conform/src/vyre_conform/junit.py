"""A run as JUnit XML, which continuous integration shows."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from vyre_conform.cell import Cell, State
from vyre_conform.run import Run

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {
    State.FAIL: "failure",
    State.CRASHED: "error",
    State.TIMEOUT: "error",
    State.UNSUPPORTED: "skipped",
    State.SKIPPED: "skipped",
    State.XFAIL: "skipped",
}


def write_junit(run: Run, path: Path) -> None:
    """One suite for each backend, one test for each cell; states that JUnit does not have stand in the message."""
    root = ET.Element("testsuites", name="vyre-conform", time=f"{run.seconds:.3f}")
    for hello in run.backends:
        cells = run.on(hello.backend)
        counts = {tag: sum(_TAGS.get(cell.state) == tag for cell in cells) for tag in ("failure", "error", "skipped")}
        suite = ET.SubElement(
            root,
            "testsuite",
            name=hello.backend,
            tests=str(len(cells)),
            failures=str(counts["failure"]),
            errors=str(counts["error"]),
            skipped=str(counts["skipped"]),
        )
        for cell in cells:
            _add(suite, cell)
    ET.indent(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _add(suite: ET.Element, cell: Cell) -> None:
    group, _, rest = str(cell.address).partition(":")
    facts = {"classname": f"{cell.backend}.{group}", "name": rest, "time": f"{cell.seconds:.4f}"}
    test = ET.SubElement(suite, "testcase", facts)
    tag = _TAGS.get(cell.state)
    if tag is not None:
        message = _NOT_XML.sub("�", f"{cell.state.value}: {cell.reason}")
        ET.SubElement(test, tag, message=message).text = _NOT_XML.sub("�", cell.log)
