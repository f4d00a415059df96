"""Messages name lines of files, and cells of notebooks as IPython does."""

import sys
from types import SimpleNamespace

import pytest

from vyre_foundation.ir.origin import Origin, place_text


def test_a_line_of_a_file_is_named_by_the_file() -> None:
    assert str(Origin("student.py", 3)) == place_text("student.py", 3) == "student.py:3"
    assert place_text("student.py", 3, 7) == "student.py:3:7"


def test_a_line_of_a_cell_is_named_as_tracebacks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = SimpleNamespace(format_code_name={"cell.py": ("Cell", "In[4]")}.get)
    shell = SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert str(Origin("cell.py", 3)) == place_text("cell.py", 3, 7) == "Cell In[4], line 3"
    assert place_text("student.py", 3, 7) == "student.py:3:7"


@pytest.mark.parametrize("module", [SimpleNamespace(), SimpleNamespace(get_ipython=lambda: None)])
def test_ipython_without_a_shell_names_no_cells(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert place_text("cell.py", 3) == "cell.py:3"
