"""Shapes of buffers, loops with a condition and chains of branches: what they record, as text."""

import copy
import math
import pickle

import pytest

import vyre_foundation as v
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.shapes import on_grid


def body(p: v.ProgramBuilder) -> str:
    """The statements of a program."""
    return str(p.build()).split("\n\n", 1)[1].rsplit("\n}", 1)[0]


def test_an_index_for_each_axis_is_checked_on_its_axis() -> None:
    with v.program("p", (8, 8)) as p:
        image = p.read("image", v.u8, shape=("h", "w"))
        out = p.write("out", v.u8, shape=("h", "w"))
        y, x = p.index()
        out[y, x] = image[y + 1, 2]
    text = str(p.build())
    assert "  write out: u8[len(image)] @1;\n  uniform `launch.shape`: u32[2] @2;\n" in text
    assert "if (global_id.y < `launch.shape`[0]) & (global_id.x < `launch.shape`[1]) {" in text
    assert "image[(global_id.y + 1) * `launch.shape`[1] + 2], 0);" in text
    shapes = p.build().shapes
    assert shapes is not None
    assert (shapes.launch, shapes.passed, shapes.zeros) == (("h", "w"), ("h", "w"), ())
    assert dict(shapes.buffers) == {"image": ("h", "w"), "out": ("h", "w")}


def test_all_axes_before_the_last_two_are_z_of_the_grid() -> None:
    with v.program("p", (8, 8), shape=("b", "n", 3, "h", "w")) as p:
        image = p.read("image", v.u8, shape=("b", "n", 3, "h", "w"))
        out = p.write("out", v.u8, like=image)
        b, n, c, y, x = p.index()
        out[b, n, c, y, x] = image[n, b, c, y, x]
    assert [str(index.expr) for index in (c, y, x)] == ["global_id.z % 3", "global_id.y", "global_id.x"]
    text = str(p.build())
    assert "%0 = global_id.z / 3 / `launch.shape`[1];" in text
    assert "%1 = global_id.z / 3 % `launch.shape`[1];" in text
    assert "if (%0 < `launch.shape`[0]) & (%1 < `launch.shape`[1]) &" in text


@pytest.mark.parametrize("shape", [(7,), (6, 7), (5, 6, 7), (4, 5, 6, 7), (2, 3, 4, 5, 6, 7), (2, 0, 4, 5)])
def test_a_grid_has_an_invocation_for_each_place(shape: tuple[int, ...]) -> None:
    sizes = on_grid(shape)
    assert len(sizes) == min(len(shape), 3)
    assert math.prod(sizes) == math.prod(shape)
    assert sizes[:2] == shape[::-1][:2]


def test_axes_of_numbers_need_no_lengths() -> None:
    with v.program("p", (4, 4)) as p:
        x, tile = p.read("x", v.u32, shape=(4, 4)), p.workgroup("tile", v.u32, shape=(4, 4))
        table = p.constant("table", v.u32, [[1, 2], [3, 4]])
        out = p.write("out", v.u32, shape=(4, 4))
        i, j = p.index()
        tile[i, j] = x[3, 1] + x[4, 1]
        out[i, j] = table[1, i] + table[2]
    assert (x.shape, x.ndim, tile.shape, p.shape) == ((4, 4), 2, (4, 4), (4, 4))
    assert "tile[%1] = x[3 * 4 + 1] + select(false, x[4 * 4 + 1], 0);" in body(p)
    assert "select(global_id.y < 2, table[1 * 2 + global_id.y], 0) + table[2]" in body(p)
    assert p.build().buffer("out").count == 16


def test_lengths_are_those_of_inputs_of_one_axis_where_there_are() -> None:
    with v.program("p") as p:
        matrix, x = p.read("matrix", v.f32, shape=("m", "n")), p.read("x", v.f32, shape="n")
        out = p.write("out", v.f32, shape="m")
        out[p.index()] = (matrix.shape[0] + x.shape[0]).cast(v.f32)
    assert "out[global_id.x] = f32(`launch.shape`[0] + len(x));" in body(p)
    shapes = p.build().shapes
    assert shapes is not None
    assert (shapes.passed, shapes.zeros) == (("m",), ("out",))
    assert p.build().buffer("out").access is v.Access.READ_WRITE, "no rule gives its length"


def test_signed_and_wide_indices_cannot_wrap_into_another_element() -> None:
    with v.program("p") as p:
        i, x = p.read("i", v.i64, shape="n"), p.read("x", v.u8, shape=(3, 4))
        s, out = p.read("s", v.i32, shape="n"), p.write("out", v.u8, shape="n")
        k = p.index()
        out[k] = x[i[k], s[k]]
    assert "(bitcast<u64>(i[global_id.x]) < 3) & (u32(s[global_id.x]) < 4)" in body(p)


def test_atomics_take_an_index_for_each_axis() -> None:
    with v.program("p", shape="n") as p:
        x, counts = p.read("x", v.u32, shape="n"), p.read_write("counts", v.u32, shape=(2, 8))
        counts.atomic_add((x[p.index()], 3), 1)
    assert "atomic add(counts[select(x[global_id.x] < 2, x[global_id.x] * 8 + 3, 4294967295)], 1);" in body(p)


def test_like_a_buffer_is_of_its_shape() -> None:
    p = v.program("p")
    x = p.read("x", v.u8, shape=("h", "w"))
    out = p.write("out", v.u8, like=x)
    y, z = p.index()
    out[y, z] = x[y, z]
    assert out.ndim == 2
    shapes = p.build().shapes
    assert shapes is not None
    assert shapes.buffers["out"] == ("h", "w")


def test_a_length_that_follows_from_no_input_is_refused() -> None:
    p = v.program("p")
    x, out = p.read("x", v.u8, shape="n"), p.write("out", v.u8, shape="m")
    out[p.index()] = x[0]
    with pytest.raises(
        BuildError, match=r"the length of 'm' follows from no input\. Fix: use a shape variable of the inputs"
    ):
        p.build()


def test_integers_that_are_the_same_for_all_invocations_are_lengths() -> None:
    with v.program("p", (8, 8)) as p:
        h, w = p.scalar("h", v.u32), p.scalar("w", v.i64)
        out = p.write("out", v.u32, shape=("h", "w"))
        y, x = p.index()
        out[y, x] = h + p.shape[1]
    shapes = p.build().shapes
    assert shapes is not None
    assert (shapes.passed, shapes.zeros, shapes.numbers) == ((), ("out",), ("h", "w"))
    assert "out[global_id.y * u32(w[0]) + global_id.x] = h[0] + u32(w[0]);" in body(p)
    assert w.dtype is v.i64
    p = v.program("p")
    p.scalar("n", v.f32)
    p.write("out", v.u32, shape="n")
    with pytest.raises(BuildError, match="the length of 'n' follows from no input"):
        p.build()


def test_shapes_are_no_part_of_the_meaning_and_copies_have_them() -> None:
    p = v.program("p")
    x = p.read("x", v.u8, shape=("h", "w"))
    out = p.write("out", v.u8, like=x)
    out[p.index()] = x[p.index()]
    program = p.build()
    assert copy.deepcopy(program).shapes == pickle.loads(pickle.dumps(program)).shapes == program.shapes  # noqa: S301
    decoded = v.decode(v.encode(program))
    assert (decoded == program, decoded.fingerprint(), decoded.shapes) == (True, program.fingerprint(), None)


def test_a_condition_of_a_loop_is_read_in_each_iteration() -> None:
    with v.program("p") as p:
        x, out = p.read("x", v.u32), p.write("out", v.u32, 8)
        n = p.var(x[0])
        with p.while_(lambda: n > 1, limit=7):
            n.set(n >> 1)
        out[0] = n
    assert body(p) == (
        "  var v0 = x[0];\n"
        "  for iteration0 in 0..8 {\n"
        "    if !(v0 > 1) {\n      break;\n    }\n"
        '    if iteration0 == 7 {\n      trap(7, "a loop of p reached its limit");\n      break;\n    }\n'
        "    v0 = v0 >> 1;\n"
        "  }\n"
        "  out[0] = v0;"
    )


def test_a_chain_of_branches_stands_in_the_else_of_the_branch_before() -> None:
    with v.program("p") as p:
        x, out = p.read("x", v.u32), p.read_write("out", v.u32, 8)
        n = p.var(x[0])
        with p.if_(n == 1):
            n.set(10)
        with p.elif_(out[n] == 2):
            n.set(20)
        with p.elif_(x[1] == 3):
            with p.if_(n == 9):
                n.set(90)
            with p.elif_(n == 8):
                n.set(80)
        with p.else_():
            n.set(30)
        out[0] = n
    assert body(p) == (
        "  var v0 = x[0];\n"
        "  if v0 == 1 {\n    v0 = 10;\n"
        "  } else if out[v0] == 2 {\n    v0 = 20;\n"
        "  } else if x[1] == 3 {\n"
        "    if v0 == 9 {\n      v0 = 90;\n    } else if v0 == 8 {\n      v0 = 80;\n    }\n"
        "  } else {\n    v0 = 30;\n  }\n"
        "  out[0] = v0;"
    )
    with pytest.raises(BuildError, match="elif_ does not follow an if_ block"):
        p.elif_(x[0] == 1)


def test_lines_of_a_chain_are_those_that_wrote_it() -> None:
    with v.program("p") as p:
        x, out = p.read("x", v.u32), p.read_write("out", v.u32, 8)
        with p.if_(x[0] == 1):
            out[0] = 1
        with p.elif_(out[1] == 2):
            out[2] = 2
        with p.else_():
            out[3] = 3
    program = p.build()
    origins = program.origins
    assert origins is not None
    lines = [origins.statement(number).line for number in range(len(program.statements))]
    first = lines[0]
    assert [line - first for line in lines] == [0, 1, 2, 3, 5]


def test_a_type_converts_values_and_gives_numbers_a_type() -> None:
    x = v.program("p").read("x", v.u8)[0]
    assert repr(v.u32(x)) == "<u32 u32(x[0])>"
    assert v.u8(x).expr is x.expr
    assert v.f32(1).expr is v.constant(v.f32, 1).expr
    with pytest.raises(v.LiteralOutOfRange):
        v.u8(256)
