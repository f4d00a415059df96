"""`match` in kernels: the branches that Python takes, over values of the program and over what Python knows."""

import importlib
from enum import IntEnum

import numpy as np
import pytest

import vyre as vy


class Op(IntEnum):
    """Instructions of a small machine."""

    ADD = 0
    NEGATE = 3


MODE = "offset"


def step(op, value):
    """What the machine does, as Python runs it."""
    match op & 7:
        case Op.ADD:
            value = value + 1
        case 1 | 2:
            value = value - 2
        case Op.NEGATE:
            value = -value
        case 4 if value > 3:
            value = value * 2
        case 4:
            value = value * value
        case _:
            value = value - value
    match MODE:
        case "plain":
            return value
        case "offset":
            return value + 100
    return value


execute = vy.func(step)


@vy.kernel
def machine(ops: vy.Array[vy.u32, "n"], values: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    i = vy.index()
    return execute(ops[i], values[i])


def test_the_branches_are_those_of_python() -> None:
    ops, values = np.repeat(np.arange(16, dtype=np.uint32), 9), np.tile(np.arange(-4, 5, dtype=np.int32), 16)
    expected = [step(op, value) for op, value in zip(ops.tolist(), values.tolist(), strict=True)]
    assert len({*expected}) > 10
    for backend in ("reference", "cpu"):
        assert machine.on(backend)(ops, values).tolist() == expected


@vy.kernel(shape="n")
def counted(x: vy.Array[vy.u32, "n"], tickets: vy.InOut[vy.u32, 1]) -> vy.Array[vy.u32, "n"]:
    match tickets.atomic_add(0, 1):
        case 0:
            return x[vy.index()]
        case 1 | 2:
            return x[vy.index()] + 10
        case _:
            return vy.u32(0)


def test_the_subject_is_evaluated_once() -> None:
    tickets, result = counted.on("reference")(np.uint32([7]), np.zeros(1, np.uint32))
    assert (result.tolist(), tickets.tolist()) == ([7], [1])


@vy.kernel
def until(codes: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u32, 1]:
    count = vy.u32(0)
    for k in range(len(codes)):
        match codes[k]:
            case 0:
                break
            case 32 | 10:
                continue
        count += 1
    return count


def test_loops_are_left_from_a_case() -> None:
    assert until.on("reference")(np.frombuffer(b"a b\nc\0d", np.uint8)).tolist() == [3]


@pytest.mark.parametrize("pattern", ["other", "[a, b]", "1 | (2 as two)", "int()", "{}"])
def test_other_patterns_are_refused(pattern: str, tmp_path, monkeypatch) -> None:
    lines = [
        "import vyre as vy",
        "@vy.kernel",
        "def kernel(x: vy.Array[vy.u32, 'n']) -> vy.Array[vy.u32, 'n']:",
        "    match x[vy.index()]:",
        f"        case {pattern}:",
        "            return vy.u32(1)",
    ]
    (tmp_path / "patterns.py").write_text("\n".join(lines), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("patterns")
    with pytest.raises(vy.KernelError, match=r"destructures the subject\n +case .*\n +\^+\nFix: match numbers"):
        module.kernel.program


@vy.kernel
def left_behind_a_match(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    total = vy.u32(0)
    for k in (0, 1, 2):
        match x[i] * 3 % 4:
            case 0:
                total += 1
            case 1 | 2:
                total += 10
        if x[i] == k:
            break
        total += 100
    return total


def test_a_match_in_an_unrolled_loop_that_is_left_later() -> None:
    found = left_behind_a_match(np.arange(8, dtype=np.uint32))
    assert found.tolist() == [1, 100, 230, 330, 303, 300, 330, 330]
