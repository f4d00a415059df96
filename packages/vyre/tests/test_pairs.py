"""One meaning: each kernel of the documentation, recorded by hand, is the same program with the same fingerprint."""

import re
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import vyre as vy

PAGE = Path(__file__).parents[3] / "docs/kernels.md"
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


PAIRS: dict[str, Callable[[], vy.ProgramBuilder]] = {
    function.__name__: function for function in (saxpy, life, histogram, collatz, fade, bounce, step, scaled, transpose)
}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the page defines: its blocks as one file, because a kernel is compiled from its source."""
    file = tmp_path_factory.mktemp("page") / "page.py"
    file.write_text("\n".join(BLOCK.findall(PAGE.read_text("utf-8"))), "utf-8")
    names: dict[str, Any] = {"__name__": "page", "__file__": str(file)}
    code: CodeType = compile(file.read_text("utf-8"), str(file), "exec")
    exec(code, names)
    return names


@pytest.mark.parametrize("name", PAIRS)
def test_a_kernel_of_the_page_and_the_recorded_program_are_one(kernels: dict[str, Any], name: str) -> None:
    kernel = kernels[name][vy.f64] if name == "scaled" else kernels[name]
    program = PAIRS[name]().build()
    assert vy.print_program(kernel.program) == vy.print_program(program)
    assert kernel.program.fingerprint() == program.fingerprint()
    assert kernel.program.shapes == program.shapes


def test_every_kernel_of_the_page_has_a_pair(kernels: dict[str, Any]) -> None:
    wrong = {"shifted"}  # the page shows its error
    assert {name for name, x in kernels.items() if isinstance(x, vy.KernelFunction)} - wrong == set(PAIRS)
