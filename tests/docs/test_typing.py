"""Type checkers accept the kernels that the documentation shows, and the programs of the gallery."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

FUNCTIONS = """
@vy.kernel
def root(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.f32, "n"]:
    v: vy.f32 = vy.sqrt(x[vy.index()].cast(vy.f32))
    return vy.max(v, 1.0) * vy.exp(v) + vy.f32(3)
"""
"""Functions give the types of their operands, and conversions those that they name."""


def test_strict_mypy_finds_the_mistake_on_the_page_of_kernels_and_no_other(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    file = tmp_path / "page.py"
    source = "\n".join(BLOCK.findall((ROOT / "docs/kernels.md").read_text("utf-8")))
    file.write_text(source + FUNCTIONS, "utf-8")
    arrays = tmp_path / "arrays_page.py"
    arrays.write_text("\n".join(BLOCK.findall((ROOT / "docs/arrays.md").read_text("utf-8"))), "utf-8")
    gallery = [str(file) for file in sorted((ROOT / "examples/gallery").glob("*.py")) if file.stem != "torch_op"]
    arguments = [
        "--strict",
        "--config-file",
        "",
        "--cache-dir",
        str(tmp_path / "cache"),
        "--no-error-summary",
        "--scripts-are-modules",
    ]
    printed, failed, _ = mypy.run([*arguments, str(file), str(arrays), *gallery])
    assert not failed
    line = source[: source.index("return x[vy.index()] * 0.5")].count("\n") + 1
    expected = 'error: Incompatible return value type (got "u32", expected "f32")  [return-value]'
    assert [row.rpartition("/")[2] for row in printed.splitlines()] == [f"page.py:{line}: {expected}"]


def test_a_newcomer_reads_for_less_than_five_minutes_before_a_first_kernel():
    """At 200 words a minute: the index, and the tutorial up to the end of the first kernel, code included."""
    index = re.sub(r"^```{toctree}.*?^```", "", (ROOT / "docs/index.md").read_text("utf-8"), flags=re.M | re.S)
    tutorial = (ROOT / "docs/tutorial.md").read_text("utf-8").partition("\n## The same bytes everywhere")[0]
    assert "## A first kernel" in tutorial
    assert len(f"{index} {tutorial}".split()) <= 5 * 200
