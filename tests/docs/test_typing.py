"""Type checkers accept the kernels that the documentation shows."""

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
    arguments = ["--strict", "--config-file", "", "--cache-dir", str(tmp_path / "cache"), "--no-error-summary"]
    printed, failed, _ = mypy.run([*arguments, str(file)])
    assert not failed
    line = source[: source.index("return x[vy.index()] * 0.5")].count("\n") + 1
    expected = 'error: Incompatible return value type (got "u32", expected "f32")  [return-value]'
    assert [row.partition("page.py:")[2] for row in printed.splitlines()] == [f"{line}: {expected}"]
