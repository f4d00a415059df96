"""The notebooks of the documentation run from top to bottom, and are stored without their outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs/notebooks").glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]


def test_there_are_notebooks() -> None:
    assert {"first-kernel", "graph-and-profile"} <= set(NAMES)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_no_outputs_are_stored(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    for number, cell in enumerate(document["cells"]):
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None), f"cell {number} has outputs"
    assert document["metadata"].keys() == {"kernelspec", "language_info"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_every_cell_runs_and_what_it_shows_is_html(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient and ipykernel are in the environments of tox")
    pytest.importorskip("ipykernel", reason="nbclient and ipykernel are in the environments of tox")
    nbformat = pytest.importorskip("nbformat")
    from vyre_foundation.testing.html import parsed

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook: Any = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": os.fspath(tmp_path)}})
    client.execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result" and "text/html" in output["data"]
    ]
    assert len(shown) >= 3
    for html in shown:
        parsed(html)
