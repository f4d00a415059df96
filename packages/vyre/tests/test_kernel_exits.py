"""Statements that leave an iteration of an unrolled loop, or a device function: what follows is compiled once."""

import importlib.util

import numpy as np
import pytest

import vyre as vy
from vyre_foundation.ir.walk import statements

STEP = """
{indent}if (x >> {bit}) & 1 == 1:
{indent}    total += {bit}
{indent}    if (y >> {bit}) & 1 == 1:
{indent}        {word}
{indent}total = total * 3 + {bit}
"""
LOOP = """
def body(x, y, total):
    for k in (1, 2):
        total += k
{steps}
    return total
"""
FUNCTION = """
def body(x, y, total):
{steps}
    return total
"""
KERNEL = """
import vyre as vy

@vy.func
{body}

@vy.kernel
def kernel(x: vy.Array[vy.u32, "n"], y: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    return body(x[i], y[i], vy.u32(0))
"""
WAYS = [(LOOP, "continue", 8), (LOOP, "break", 8), (FUNCTION, "return total", 4)]


def source(form: str, word: str, indent: int, count: int) -> str:
    steps = (STEP.format(bit=bit, word=word, indent=" " * indent) for bit in range(count))
    return form.format(steps="".join(steps))


def kernel_of(body: str, folder) -> vy.KernelFunction:
    file = folder / "exits.py"
    file.write_text(KERNEL.format(body=body), "utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


@pytest.mark.parametrize(("form", "word", "indent"), WAYS, ids=["continue", "break", "return"])
def test_each_statement_that_may_leave_adds_as_many_statements(form, word, indent, tmp_path) -> None:
    counts = []
    for count in (4, 8, 12):
        program = kernel_of(source(form, word, indent, count), tmp_path).program
        counts.append(sum(1 for _ in statements(program.body)))
    assert counts[2] - counts[1] == counts[1] - counts[0]


@pytest.mark.parametrize(("form", "word", "indent"), WAYS, ids=["continue", "break", "return"])
def test_statements_that_may_leave_do_what_they_do_in_python(form, word, indent, tmp_path) -> None:
    body = source(form, word, indent, 10)
    scope: dict[str, object] = {}
    exec(body, scope)
    x, y = np.random.default_rng(2).integers(0, 2**10, (2, 200), np.uint32)
    y &= np.random.default_rng(3).integers(0, 2**10, 200, np.uint32)
    expected = [scope["body"](a, b, 0) % 2**32 for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    for backend in ("reference", "cpu"):
        assert kernel_of(body, tmp_path).on(backend)(x, y).tolist() == expected


def test_what_only_the_paths_to_the_rest_give_a_value_has_one_there() -> None:
    @vy.kernel
    def kernel(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        at, total = x[vy.index()], vy.f32(0)
        for k in (1, 2):
            if at > 1:
                if at > 3 * k:
                    continue
                scale = at
            else:
                scale = at * 2
            total += scale * k
        return total

    assert kernel.on("reference")(np.float32([0, 1, 2, 4, 9])).tolist() == [0, 6, 6, 8, 0]


def test_a_path_behind_a_loop_that_returns_must_return_too() -> None:
    @vy.func
    def place(x):
        for k in range(3):
            if x == k:
                return vy.u32(7)
        if x > 5:
            return vy.u32(8)

    @vy.kernel
    def kernel(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        return place(x[vy.index()])

    with pytest.raises(vy.KernelError, match="the function may end without returning a value"):
        kernel(np.arange(9, dtype=np.uint32))


@vy.kernel
def exchanged(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    if x[i] == 5:
        return vy.u32(7)
    else:
        pair = (x[i], x[i] + 1)
        if x[i] > 2:
            pair = (pair[1], pair[0])
    return pair[0] * 10 + pair[1]


def test_a_tuple_that_one_arm_alone_makes_and_changes() -> None:
    assert exchanged(np.arange(8, dtype=np.uint32)).tolist() == [1, 12, 23, 43, 54, 7, 76, 87]
