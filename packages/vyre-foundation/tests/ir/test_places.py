"""Messages name lines of files, and cells of notebooks as IPython does."""

import builtins
from types import SimpleNamespace

import pytest

from vyre_foundation.ir.origin import Origin, place_text


def test_a_line_of_a_file_is_named_by_the_file() -> None:
    assert str(Origin("student.py", 3)) == place_text("student.py", 3) == "student.py:3"
    assert place_text("student.py", 3, 7) == "student.py:3:7"


def test_a_line_of_a_cell_is_named_as_tracebacks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = SimpleNamespace(format_code_name={"cell.py": ("Cell", "In[4]")}.get)
    shell = SimpleNamespace(compile=compiler)
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    assert str(Origin("cell.py", 3)) == place_text("cell.py", 3, 7) == "Cell In[4], line 3"
    assert place_text("student.py", 3, 7) == "student.py:3:7"


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(compile=SimpleNamespace())])
def test_another_shell_names_no_cells(shell: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    assert place_text("cell.py", 3) == "cell.py:3"
