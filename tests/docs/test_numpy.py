"""Each line of the page for users of NumPy: both sides run, and give the same."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import vyre as vy

PAGE = (Path(__file__).parents[2] / "docs/numpy.md").read_text("utf-8")
(GIVEN,) = re.findall(r"^```python\n(import numpy.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TYPES = {"float32": "f32", "uint32": "u32", "bool": "bool_"}


def lines(header: str) -> list[tuple[str, str]]:
    """The codes of the tables whose right column has a header: NumPy's, and what stands beside it."""
    found = []
    for table in re.findall(rf"^\| NumPy \| {header} \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE):
        for row in table.splitlines():
            left, right = (re.findall(r"`(.*?)`", cell.replace("\\|", "|")) for cell in re.split(r" (?<!\\)\| ", row))
            found += zip(left, right, strict=True)
    return found


def scope() -> dict[str, object]:
    names: dict[str, object] = {}
    exec(GIVEN, names)
    return names


def compare(found: object, wanted: object) -> None:
    if isinstance(wanted, tuple):
        for each, one in zip(found, wanted, strict=True):
            compare(each, one)
        return
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_there_are_tables() -> None:
    assert len(lines("vyre")) > 30
    assert len(lines("in a kernel")) > 8
    assert len(re.findall(r"^\| [^-].*\|$", PAGE, re.MULTILINE)) < len(lines("vyre")) + len(lines("in a kernel")) + 6


@pytest.mark.parametrize(("numpy", "vyre"), lines("vyre"))
def test_a_line_of_arrays(numpy: str, vyre: str) -> None:
    compare(eval(vyre, scope()), eval(numpy, scope()))


@pytest.mark.parametrize(("numpy", "element"), lines("in a kernel"))
def test_a_line_of_elements(numpy: str, element: str, tmp_path: Path) -> None:
    given = scope()
    wanted = eval(numpy, given)
    names = [name for name in ("x", "y", "n", "k", "m") if re.search(rf"\b{name}\b", element)]
    declared = ", ".join(f"{name}: vy.Array[vy.{TYPES[given[name].dtype.name]}, 'p']" for name in names)
    head = f"def line({declared}) -> vy.Array[vy.{TYPES[wanted.dtype.name]}, 'p']:"
    file = tmp_path / "line.py"
    file.write_text(f"import vyre as vy\n@vy.kernel\n{head}\n    i = vy.index()\n    return {element}\n", "utf-8")
    spec = importlib.util.spec_from_file_location("line", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compare(module.line.on("reference")(*(given[name] for name in names)), wanted)


def test_names_that_the_page_says_are_missing_have_a_remedy() -> None:
    (missing,) = re.findall(r"that says what to write: (.*)\.$", PAGE, re.MULTILINE)
    for name in re.findall(r"`vy\.(\w+)`", missing):
        with pytest.raises(AttributeError, match=rf"'{name}'\. Fix: (write|call) "):
            getattr(vy, name)
