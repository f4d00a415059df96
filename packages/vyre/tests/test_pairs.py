"""One meaning: each kernel of the documentation, recorded by hand, is the same program with the same fingerprint."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vyre as vy

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def saxpy() -> vy.ProgramBuilder:
    with vy.program("saxpy") as p:
        a, x = p.scalar("a", vy.f32), p.read("x", vy.f32, shape="n")
        y, out = p.read("y", vy.f32, shape="n"), p.write("out", vy.f32, shape="n")
        i = p.index()
        out[i] = a * x[i] + y[i]
    return p


def life() -> vy.ProgramBuilder:
    with vy.program("life", (16, 16)) as p:
        cells, out = p.read("cells", vy.u8, shape=("h", "w")), p.write("out", vy.u8, shape=("h", "w"))
        y, x = p.index()
        around = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]
        n = None
        for dy, dx in around:
            row = y - 1 if dy < 0 else y + dy
            column = x - 1 if dx < 0 else x + dx
            n = cells[row, column] if n is None else n + cells[row, column]
        lives = (n == 3) | ((n == 2) & (cells[y, x] != 0))
        out[y, x] = vy.select(lives, vy.u8(1), 0)
    return p


def histogram() -> vy.ProgramBuilder:
    with vy.program("histogram", shape="n") as p:
        x, counts = p.read("x", vy.u8, shape="n"), p.read_write("counts", vy.u32, shape=256)
        with p.if_(p.index() >= x.shape[0]):
            p.return_()
        counts.atomic_add(x[p.index()], 1)
    return p


def collatz() -> vy.ProgramBuilder:
    with vy.program("collatz") as p:
        start, out = p.read("start", vy.u32, shape="n"), p.write("out", vy.u32, shape="n")
        with p.if_(p.index() >= start.length):
            p.return_()
        with p.if_(start[p.index()] < 2):
            out[p.index()] = 0
            p.return_()
        n = p.var(start[p.index()], name="n")
        steps = p.var(vy.u32(0), name="steps")
        with p.while_(lambda: n > 1, limit=1000):
            with p.if_((n & 1) == 0):
                n.set(n >> 1)
            with p.else_():
                n.set(n * 3 + 1)
            steps += 1
        out[p.index()] = steps
    return p


def fade() -> vy.ProgramBuilder:
    def mix(a: float, b: float, t: vy.Value) -> vy.Mutable:
        result = p.var(vy.f32(0), name="return")
        with p.if_(t < 0.0):
            result.set(a)
        with p.else_():
            result.set(vy.select(t > 1.0, vy.f32(b), vy.f32(a) + (vy.f32(b) - vy.f32(a)) * t))
        return result

    with vy.program("fade") as p:
        t, out = p.read("t", vy.f32, shape="n"), p.write("out", vy.f32, shape="n")
        out[p.index()] = mix(10.0, 20.0, t[p.index()])
    return p


def bounce() -> vy.ProgramBuilder:
    with vy.program("bounce") as p:
        place, speed = p.read("place", vy.f32, shape="n"), p.read("speed", vy.f32, shape="n")
        out = p.write("out", vy.f32, shape="n")
        i = p.index()
        at, by = p.var(place[i], name="ball"), p.var(speed[i], name="ball")
        with p.range(4, name="v"):
            at.set(at + by * vy.f32(1))
            with p.if_(at > 3.0):
                was, came = at.get(), by.get()
                at.set(6.0 - was)
                by.set(-came)
        out[i] = at
    return p


def below_three() -> vy.ProgramBuilder:
    with vy.program("below_three") as p:
        n, out = p.read("n", vy.i32, shape=1), p.write("out", vy.i32, shape=1)
        below = p.var(vy.i32(0), name="below")
        with p.range(vy.i32(0), n[0], name="j") as j, p.if_(j - 2 < 1):
            below += 1
        out[p.index()] = below
    return p


def scaled() -> vy.ProgramBuilder:
    with vy.program("scaled") as p:
        by, x = p.scalar("by", vy.f64), p.read("x", vy.f64, shape="n")
        out = p.write("out", vy.f64, shape="n")
        out[p.index()] = by * x[p.index()]
    return p


def transpose() -> vy.ProgramBuilder:
    with vy.program("transpose", (16, 16)) as p:
        matrix, out = p.read("matrix", vy.f32, shape=("h", "w")), p.write("out", vy.f32, shape=("w", "h"))
        tile = p.workgroup("tile", vy.f32, shape=(16, 16))
        x, y = p.local_id(0), p.local_id(1)
        tile[y, x] = matrix[p.workgroup_id(0) * 16 + y, p.workgroup_id(1) * 16 + x]
        p.barrier()
        out[p.index()] = tile[x, y]
    return p


def total() -> vy.ProgramBuilder:
    with vy.program("total", 64, 32, shape="n") as p:
        x, out = p.read("x", vy.u32, shape="n"), p.read_write("out", vy.u32, shape=1)
        part = p.subgroup("reduce_add", x[p.index()])
        with p.if_(p.subgroup_lane() == 0):
            out.atomic_add(0, part)
    return p


def julia() -> vy.ProgramBuilder:
    with vy.program("julia", shape="n") as p:
        z, c = p.read("z", vy.f32, shape=("n", 2)), p.read("c", vy.f32, shape=("n", 2))
        out = p.write("out", vy.f32, shape=("n", 2))
        i = p.index()
        re, im = z[i, 0], z[i, 1]
        out[i, 0] = (re * re - im * im) * 0.5 + c[i, 0]
        out[i, 1] = (re * im + im * re) * 0.5 + c[i, 1]
    return p


def step() -> vy.ProgramBuilder:
    with vy.program("step", shape="n") as p:
        particles = p.read_write("particles", vy.f32, shape=("n", 7))
        pull, dt = p.read("pull", vy.f32, shape=("n", 3)), p.scalar("dt", vy.f32)
        i = p.index()
        place, speed, mass = ([particles[i, k] for k in part] for part in (range(3), range(3, 6), (6,)))
        by = dt / mass[0]
        speed = [old + pull[i, k] * by for k, old in enumerate(speed)]
        for k, new in enumerate(speed):
            particles[i, 3 + k] = new
        for k, old in enumerate(place):
            particles[i, k] = old + speed[k] * dt
    return p


def of_elements(
    name: str, dtype: vy.DType, inputs: str, element: Callable[..., vy.Value]
) -> Callable[[], vy.ProgramBuilder]:
    """A program over vectors of one type: `element` gives the result at an index, from the inputs and the index."""

    def recorded() -> vy.ProgramBuilder:
        with vy.program(name) as p:
            vectors = [p.read(part, dtype, shape="n") for part in inputs.split()]
            out = p.write("out", dtype, shape="n")
            out[p.index()] = element(*vectors, p.index())
        return p

    return recorded


def sharpen() -> vy.ProgramBuilder:
    with vy.program("sharpen", (16, 16)) as p:
        image, amount = p.read("image", vy.f32, shape=("h", "w")), p.scalar("amount", vy.f32)
        out = p.write("out", vy.f32, shape=("h", "w"))
        y, x = p.index()
        around = image[y - 1, x + 0] + image[y + 1, x + 0] + image[y + 0, x - 1] + image[y + 0, x + 1]
        value = image[y, x] + amount * (4 * image[y, x] - around)
        with p.if_(value < 0.0):
            out[y, x] = 0.0
            p.return_()
        out[y, x] = value
    return p


def careless() -> vy.ProgramBuilder:
    with vy.program("careless", shape="n") as p:
        values, counts = p.read("values", vy.u8, shape="n"), p.read_write("counts", vy.u32, shape=256)
        with p.if_(p.index() >= values.shape[0]):
            p.return_()
        value = values[p.index()]
        counts[value] = counts[value] + 1
    return p


def atomic_histogram() -> vy.ProgramBuilder:
    with vy.program("histogram", shape="n") as p:
        values, counts = p.read("values", vy.u8, shape="n"), p.read_write("counts", vy.u32, shape=256)
        with p.if_(p.index() >= values.shape[0]):
            p.return_()
        counts.atomic_add(values[p.index()], 1)
    return p


def counted() -> vy.ProgramBuilder:
    with vy.program("counted", shape="n") as p:
        samples, out = p.read("samples", vy.u32, shape=("n", 2)), p.write("out", vy.u32, shape=("n", 2))
        i = p.index()
        out[i, 0] = (samples[i, 0].bitcast(vy.f32) * 2.0).bitcast(vy.u32)
        out[i, 1] = samples[i, 1] + 1
    return p


def blur() -> vy.ProgramBuilder:
    with vy.program("blur", (16, 16)) as p:
        img, k = p.read("img", vy.f32, shape=("h", "w")), p.scalar("k", vy.f32)
        out = p.write("out", vy.f32, shape=("h", "w"))
        i, j = p.index()
        out[i, j] = (img[i, j - 1] + img[i, j] + img[i, j + 1]) * k
    return p


def blurred() -> vy.ProgramBuilder:
    with vy.program("blurred", (16, 16)) as p:
        x, out = p.read("x", vy.f32, shape=("h", "w")), p.write("out", vy.f32, shape=("h", "w"))
        i, j = p.index()
        out[i, j] = (x[i, j - 1] + x[i, j] + x[i, j + 1]) / 3
    return p


def turned() -> vy.ProgramBuilder:
    with vy.program("turned", (16, 16)) as p:
        x, out = p.read("x", vy.f32, shape=("h", "w")), p.write("out", vy.f32, shape=("w", "h"))
        i, j = p.index()
        out[i, j] = x[j, i]
    return p


def divided() -> vy.ProgramBuilder:
    with vy.program("divided", 64) as p:
        x, by = p.read("x", vy.f32, shape="n"), p.read("by", vy.f32, shape=1)
        out = p.write("out", vy.f32, shape="n")
        out[p.index()] = x[p.index()] / by[0]
    return p


def careful() -> vy.ProgramBuilder:
    with vy.program("careful", shape="n") as p:
        x, out = p.read("x", vy.f32, shape="n"), p.write("out", vy.f32, shape="n")
        i = p.index()
        with p.if_(i >= x.shape[0]):
            p.return_()
        with p.if_(~(x[i + 1] != 0.0)):
            p.trap(0, "a divisor is zero")
        out[i] = x[i] / x[i + 1]
    return p


def brightened() -> vy.ProgramBuilder:
    with vy.program("brightened") as p:
        x, gain = p.read("x", vy.f32, shape="n"), p.scalar("gain", vy.f32)
        out = p.write("out", vy.f32, shape="n")
        out[p.index()] = vy.min(x[p.index()] * gain, 1.0)
    return p


def lengths() -> vy.ProgramBuilder:
    with vy.program("lengths", shape="n") as p:
        data = p.read("data", vy.u8, shape="bytes")
        first, end = p.read("first", vy.i64, shape="n"), p.read("end", vy.i64, shape="n")
        out, i = p.write("out", vy.u32, shape="n"), p.index()
        letters = p.var(vy.u32(0), name="letters")
        with p.range(first[i], end[i], name="k") as k, p.if_(data[k] != ord(" ")):
            letters += 1
        out[i] = letters
    return p


def watched() -> vy.ProgramBuilder:
    with vy.program("watched", shape="n") as p:
        x, out = p.read("x", vy.f32, shape="n"), p.write("out", vy.f32, shape="n")
        divisors = p.write("divisors", vy.f32, shape="n")
        i = p.index()
        divisors[i] = x[i + 1]
        out[i] = x[i] / x[i + 1]
    return p


def exponentials() -> vy.ProgramBuilder:
    with vy.program("exponentials", (16, 16)) as p:
        x, highest = p.read("x", vy.f32, shape=("s", "n")), p.read("highest", vy.f32, shape="s")
        out = p.write("out", vy.f32, shape=("s", "n"))
        i, j = p.index()
        out[i, j] = vy.exp(x[i, j] - highest[i])
    return p


def slopes() -> vy.ProgramBuilder:
    with vy.program("slopes", (16, 16)) as p:
        e, total = p.read("e", vy.f32, shape=("s", "n")), p.read("total", vy.f32, shape="s")
        label, out = p.read("label", vy.u32, shape="s"), p.write("out", vy.f32, shape=("s", "n"))
        i, j = p.index()
        wanted = vy.select(label[i] == j, vy.f32(1), 0.0)
        out[i, j] = (e[i, j] / total[i] - wanted) / vy.f32(label.length)
    return p


def descended() -> vy.ProgramBuilder:
    with vy.program("descended", (16, 16)) as p:
        weights, slope = p.read("weights", vy.f32, shape=("m", "n")), p.read("slope", vy.f32, shape=("m", "n"))
        rate, out = p.scalar("rate", vy.f32), p.write("out", vy.f32, shape=("m", "n"))
        i, j = p.index()
        out[i, j] = weights[i, j] - rate * slope[i, j]
    return p


def angles() -> vy.ProgramBuilder:
    with vy.program("angles", (16, 16)) as p:
        position, frequency = p.read("position", vy.f32, shape="s"), p.read("frequency", vy.f32, shape="p")
        cosine, sine = (p.write(name, vy.f32, shape=("s", "p")) for name in ("out0", "out1"))
        i, j = p.index()
        angle = position[i] * frequency[j]
        cosine[i, j], sine[i, j] = vy.cos(angle), vy.sin(angle)
    return p


def rotated() -> vy.ProgramBuilder:
    with vy.program("rotated", (8, 8, 4), shape=("s", "h", "p")) as p:
        x = p.read("x", vy.f32, shape=("s", "h", "d"))
        cosine, sine = (p.read(name, vy.f32, shape=("s", "p")) for name in ("cosine", "sine"))
        out = p.write("out", vy.f32, shape=("s", "h", "d"))
        i, h, j = p.index()
        with p.if_((i >= x.shape[0]) | (h >= x.shape[1]) | (j >= cosine.shape[1])):
            p.return_()
        k = j + cosine.shape[1]
        out[i, h, j] = x[i, h, j] * cosine[i, j] - x[i, h, k] * sine[i, j]
        out[i, h, k] = x[i, h, j] * sine[i, j] + x[i, h, k] * cosine[i, j]
    return p


def dropped() -> vy.ProgramBuilder:
    with vy.program("dropped") as p:
        x, u = p.read("x", vy.f32, shape="n"), p.read("u", vy.f32, shape="n")
        rate, out = p.scalar("rate", vy.f32), p.write("out", vy.f32, shape="n")
        i = p.index()
        out[i] = vy.select(u[i] < rate, 0.0, x[i] / (1.0 - rate))
    return p


def reversed_blocks() -> vy.ProgramBuilder:
    with vy.program("reversed_blocks", 4) as p:
        x, out = p.read("x", vy.f32, shape="n"), p.write("out", vy.f32, shape="n")
        tile = p.workgroup("tile", vy.f32, shape=4)
        tile[p.local_id(0)] = x[p.index()]
        p.barrier()
        out[p.index()] = tile[3 - p.local_id(0)]
    return p


def count() -> vy.ProgramBuilder:
    with vy.program("count", shape="n") as p:
        x, bins = p.read("x", vy.u32, shape="n"), p.read_write("bins", vy.u32, shape="b")
        with p.if_(p.index() >= x.shape[0]):
            p.return_()
        bins.atomic_add(x[p.index()], 1)
    return p


Recorded = dict[str, Callable[[], vy.ProgramBuilder]]
PAIRS: dict[str, Recorded] = {
    "arrays": {"saxpy": saxpy, "counted": counted},
    "cli": {"blur": blur},
    "continuous-integration": {
        "clamp": of_elements("clamp", vy.i32, "x", lambda x, i: vy.min(vy.max(x[i], 0), 255)),
    },
    "debugging": {
        "running": of_elements("running", vy.f32, "x", lambda x, i: x[i] / x[i + 1]),
        "careful": careful,
        "watched": watched,
    },
    "distributed": {
        "smoothed": of_elements("smoothed", vy.f32, "x", lambda x, i: (x[i - 1] + x[i] + x[i + 1]) * 0.5),
    },
    "gpu": {"double": of_elements("double", vy.f32, "x", lambda x, i: 2 * x[i])},
    "graphs": {"blurred": blurred, "turned": turned, "divided": divided},
    "index": {"xor": of_elements("xor", vy.u32, "a b", lambda a, b, i: a[i] ^ b[i])},
    "kernel-languages": {"saxpy": saxpy, "reversed_blocks": reversed_blocks, "count": count},
    "kernels": {
        function.__name__: function
        for function in (
            saxpy,
            life,
            histogram,
            below_three,
            collatz,
            fade,
            bounce,
            julia,
            step,
            scaled,
            transpose,
            total,
        )
    },
    "learning": {
        function.__name__: function for function in (exponentials, slopes, descended, angles, rotated, dropped)
    },
    "numpy": {"brightened": brightened, "lengths": lengths},
    "pytorch": {
        "squash": of_elements("squash", vy.f32, "x", lambda x, i: x[i] / (1.0 + vy.abs(x[i]))),
        "squash_slope": of_elements(
            "squash_slope",
            vy.f32,
            "grad x",
            lambda grad, x, i: grad[i] / ((1.0 + vy.abs(x[i])) * (1.0 + vy.abs(x[i]))),
        ),
    },
    "tutorial": {
        "smooth": of_elements("smooth", vy.f32, "x", lambda x, i: (x[i - 1] + 2 * x[i] + x[i + 1]) / 4),
        "sharpen": sharpen,
        "histogram": atomic_histogram,
        "careless": careless,
    },
}
SHOWS_ITS_ERROR = {"kernels.shifted"}


def kernels_of(page: str, folder: Path) -> dict[str, Any]:
    """The kernels that a page defines, from a file, because a kernel has a source. Nothing else of the page runs."""
    text = "\n".join(BLOCK.findall((DOCS / f"{page}.md").read_text("utf-8")))
    parts = [node for node in ast.parse(text).body if _is_definition(node)]
    file = folder / "page.py"
    file.write_text("\n\n".join(map(ast.unparse, parts)), "utf-8")
    names: dict[str, Any] = {"__name__": page, "vy": vy}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), names)
    return {name: x for name, x in names.items() if isinstance(x, vy.KernelFunction)}


def _is_definition(node: ast.stmt) -> bool:
    """Kernels, what they call, structures, numbers and type variables."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return any(ast.unparse(decorator).startswith("vy.") for decorator in node.decorator_list)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return isinstance(node.value, ast.Constant) or ast.unparse(node.value).startswith("TypeVar")
    return isinstance(node, ast.ImportFrom) and node.module == "typing"


@pytest.mark.parametrize("page", PAIRS)
def test_a_kernel_of_a_page_and_the_recorded_program_are_one(page: str, tmp_path: Path) -> None:
    kernels = kernels_of(page, tmp_path)
    assert {name for name in kernels if f"{page}.{name}" not in SHOWS_ITS_ERROR} == PAIRS[page].keys()
    for name, recorded in PAIRS[page].items():
        kernel = kernels[name][vy.f64] if name == "scaled" else kernels[name]
        program = recorded().build()
        assert vy.print_program(kernel.program) == vy.print_program(program)
        assert kernel.program.fingerprint() == program.fingerprint()
        assert kernel.program.shapes == program.shapes


def test_every_page_with_kernels_is_here() -> None:
    pages = {page.stem for page in DOCS.glob("*.md") if "@vy.kernel" in page.read_text("utf-8")}
    assert pages == PAIRS.keys()
