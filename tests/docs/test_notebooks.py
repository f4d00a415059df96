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


def run(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Run a notebook in a folder."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient and ipykernel are in the environments of tox")
    pytest.importorskip("ipykernel", reason="nbclient and ipykernel are in the environments of tox")
    monkeypatch.setenv("IPYTHONDIR", str(folder))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    resources = {"metadata": {"path": os.fspath(folder)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=resources, **options).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_every_cell_runs_and_what_it_shows_is_html(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    from vyre_foundation.testing.html import parsed

    notebook: Any = nbformat.read(path, as_version=4)
    run(notebook, tmp_path, monkeypatch)
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


HALF = """@vy.kernel
def scaled(x: vy.Array[vy.{dtype}, "n"]) -> vy.Array[vy.f32, "n"]:
    assert {condition}, "too large"
    return {value}
"""


def cell(value: str, *, dtype: str = "f32", condition: str = "x.ndim == 1") -> str:
    """The text of a cell with a kernel."""
    return HALF.format(dtype=dtype, condition=condition, value=value)


STUDENT = "import vyre as vy\n" + cell("x[0] * 5.0")
CELLS = [
    ("from __future__ import annotations\nimport asyncio, vyre as vy, numpy as np\nx = np.float32([1, 2])", ""),
    (f"!echo magic\nawait asyncio.sleep(0)\n{cell('x[0] * 2.0')}scaled(x).tolist()", "[2.0, 2.0]"),
    (f"{cell('x[0] * 0.5', dtype='u8')}scaled(np.uint8([3]))",
     "KernelError: Cell In[3], line 4: got the float 0.5 beside a value of u8\n    return x[0] * 0.5"),
    (f"{cell('x[0]', condition='x[vy.index()] < 2.0')}scaled(x)",
     "Trapped: program 'scaled': invocation 1 trapped with 'too large', code 0, at Cell In[4], line 3. Fix: "),
    ("with vy.program('p') as p:\n    p.trap(3, 'no')\nvy.run(p.build())",
     "Trapped: program 'p': invocation 0 trapped with 'no', code 3, at Cell In[5], line 2. Fix: "),
    (f"%%time\n{cell('x[0]')}",
     ("BuildError: the source of 'scaled' is not available, and a kernel is compiled from its source. "
     "Fix: define the function in a file, or in a cell of a notebook without %%time and the like; source that")),
    ("%%time\nscaled.program.name", "'scaled'"),
    (f"%%capture\n{cell('x[0] * 3.0')}", ""),
    ("scaled(x).tolist()", "[3.0, 3.0]"),
    ((f"text = {STUDENT!r}\nprint(text, file=open('student.py', 'w'))\n%load_ext autoreload\n%autoreload 2\n"
     "import student\nfrom student import scaled\nstudent.scaled(x).tolist()"), "[5.0, 5.0]"),
    ("print(text.replace('5.0', '0.25'), file=open('student.py', 'w'))", ""),
    ("(student.scaled(x).tolist(), scaled(x).tolist())", "([0.25, 0.25], [5.0, 5.0])"),
]  # fmt: skip
"""Cells of a notebook, and how what each shows begins."""


def test_kernels_in_cells_are_compiled_and_errors_name_the_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source, _ in CELLS])
    run(notebook, tmp_path, monkeypatch, allow_errors=True)
    for found, (source, expected) in zip(notebook.cells, CELLS, strict=True):
        shown = [f"{x.ename}: {x.evalue}" for x in found.outputs if x.output_type == "error"]
        shown += [x.data["text/plain"] for x in found.outputs if x.output_type == "execute_result"]
        assert len(shown) == bool(expected), source
        assert "".join(shown).startswith(expected), source
