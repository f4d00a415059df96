"""Type checkers accept the kernels that the documentation shows, and the programs of the gallery."""

import re
import sys
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


STUDENT = """
import numpy as np
import numpy.typing as npt
import vyre as vy

@vy.struct
class Ball(vy.Struct):
    place: vy.f32
    speed: vy.f32 = vy.f32(1.0)

@vy.kernel
def scaled(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"], by: vy.f32 = vy.f32(2.0)) -> None:
    i = vy.index()
    ball = Ball(x[i])
    v = vy.vec(x[i], ball.speed, 1.0)
    w: vy.Vec3[vy.f32] = v * by
    out[i] = vy.max(w.x, 0.0) + v.z

@vy.kernel
def both(x: vy.Array[vy.f32, "n"]) -> tuple[vy.Array[vy.f32, "n"], vy.Array[vy.u32, "n"]]:
    return x[vy.index()], vy.u32(vy.index())

x: npt.NDArray[np.float32] = np.ones(4, np.float32)
d = vy.array(x)
memory = np.zeros(4, np.float32)
a, b = both(x)
scaled(x, out=memory)
scaled(d, memory, 3.0)
scaled.on("cpu", config=vy.DispatchConfig(timeout=60))(x, by=np.float32(2))
y: npt.NDArray[np.float32] = vy.run(scaled, {"by": 2.0}, x=x)["out"]
least = (vy.min(x), vy.max(d), vy.min(x, axis=0), vy.max(d, 0), vy.sum(d), vy.argmax(x))
z: npt.NDArray[np.float32] = d.numpy()
"""
"""What a student writes that type checkers accept."""
MISTAKES = [
    ("scaled.on(3)", "arg-type"),
    ("vy.run('scaled')", "arg-type"),
    ("vy.run(scaled, [x])", "arg-type"),
    ("vy.kernel(workgroup_size='64')", "arg-type"),
    ("scaled.launch_all(x)", "attr-defined"),
    ("vy.maximum(x, x)", "attr-defined"),
    ("vy.max('a', 'b')", "call-overload"),
    ("q: int = d.numpy()", "assignment"),
]
"""Lines that they refuse, each with the code of the error."""


@pytest.fixture(autouse=True)
def recursion_limit():
    """That of the interpreter again: mypy raises it for the whole process."""
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """With one cache for all tests: what they import takes most of the time."""
    cache = str(tmp_path_factory.mktemp("mypy"))
    return ["--strict", "--config-file", "", "--cache-dir", cache, "--no-error-summary", "--scripts-are-modules"]


def test_strict_mypy_reads_a_script_of_a_student_and_finds_its_mistakes(tmp_path, options):
    mypy = pytest.importorskip("mypy.api")
    exec(compile(STUDENT, str(_written(tmp_path / "student.py", STUDENT)), "exec"), {"__name__": "student"})
    file = _written(tmp_path / "mistaken.py", STUDENT + "".join(f"{line}\n" for line, _ in MISTAKES))
    printed, failed, _ = mypy.run([*options, "--hide-error-context", str(file)])
    assert not failed
    first = STUDENT.count("\n") + 1
    found = re.findall(r"mistaken\.py:(\d+): error: .*\[([\w-]+)\]$", printed, re.MULTILINE)
    assert found == [(str(first + number), code) for number, (_, code) in enumerate(MISTAKES)], printed


def _written(file: Path, text: str) -> Path:
    file.write_text(text, "utf-8")
    return file


def test_strict_mypy_finds_the_mistake_on_the_page_of_kernels_and_no_other(tmp_path, options):
    mypy = pytest.importorskip("mypy.api")
    file = tmp_path / "page.py"
    source = "\n".join(BLOCK.findall((ROOT / "docs/kernels.md").read_text("utf-8")))
    file.write_text(source + FUNCTIONS, "utf-8")
    arrays = tmp_path / "arrays_page.py"
    arrays.write_text("\n".join(BLOCK.findall((ROOT / "docs/arrays.md").read_text("utf-8"))), "utf-8")
    gallery = [str(file) for file in sorted((ROOT / "examples/gallery").glob("*.py")) if file.stem != "torch_op"]
    printed, failed, _ = mypy.run([*options, str(file), str(arrays), *gallery])
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
