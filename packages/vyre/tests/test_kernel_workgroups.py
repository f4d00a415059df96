"""Workgroups with invocations on axes that a launch shape does not have: every path refuses them."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import vyre as vy
from vyre.cli import main
from vyre_driver import InvalidLaunch

X = np.ones(100, np.float32)
OVER = vy.DispatchConfig(workgroup_override=(8, 8, 1))
OF_SHAPE = r"workgroup size: got \(8, 8, 1\), expected one invocation on y, which the shape of the launch, \(n\), does"


@vy.kernel
def doubled(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] * 2.0


def flat(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] * 2.0


def counted(c: vy.InOut[vy.u32, "h", "w"]) -> None:
    c.atomic_add(vy.index(), 1)


def of_program(*, shape: object = None) -> vy.Program:
    """A program of one axis in workgroups of two, with a shape that is stated or that of its output, or without one."""
    with vy.program("doubled", workgroup_size=(8, 8)) as p:
        x = p.read("x", vy.f32, shape=shape)
        out = p.write("out", vy.f32, like=x) if shape is None else p.write("out", vy.f32, shape=shape)
        i = p.global_id(0)
        out[i] = x[i] * 2.0
    return p.build()


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (flat, {"workgroup_size": (8, 8)}, "has 8 invocations on y, an axis that the shape of the launch, (n), does"),
        (flat, {"workgroup_size": (1, 64)}, "Fix: write workgroup_size=64, or state a longer shape, as in shape=(64, "),
        (flat, {"workgroup_size": (4, 2, 1)}, "Fix: write workgroup_size=8, or"),
        (flat, {"workgroup_size": (8, 1, 2)}, "has 2 invocations on z"),
        (counted, {"workgroup_size": (8, 8, 2)}, "Fix: write workgroup_size=(16, 8), or"),
        (counted, {"workgroup_size": (8, 8, 2), "shape": ("h", "w")}, "the shape of the launch, (h, w), does not have"),
    ],
)
def test_a_kernel_is_refused_where_it_is_compiled(function, options, message) -> None:
    with pytest.raises(vy.KernelError) as error:
        _ = vy.kernel(**options)(function).program
    assert message in str(error.value)
    assert error.value.where.startswith(__file__)


def test_what_the_messages_propose_computes_all_elements() -> None:
    assert (vy.kernel(workgroup_size=64)(flat)(X) == 2).all()
    zeros = np.zeros((5, 5), np.uint32)
    assert (vy.kernel(workgroup_size=(16, 8))(counted)(zeros) == 1).all()

    @vy.kernel(workgroup_size=(8, 8), shape=(8, "n"))
    def rows(x: vy.Array[vy.f32, "n"], calls: vy.InOut[vy.u32, "n"]) -> None:
        calls.atomic_add(vy.index()[1], 1)

    assert (rows(X, np.zeros(100, np.uint32)) == 8).all()


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_an_override_of_a_kernel_is_refused(backend: str) -> None:
    for call in (
        lambda: doubled.on(backend, config=OVER)(X),
        lambda: doubled.on(backend, config=OVER)(x=X),
        lambda: doubled.on(backend, config=OVER, invocations=100)(X),
        lambda: doubled.on(backend, config=OVER, invocations=(100, 1))(X),
        lambda: doubled.on(backend, config=OVER)(vy.array(X, backend=backend)),
        lambda: vy.run(doubled, x=X, backend=backend, config=OVER),
        lambda: vy.run(doubled, x=X, backend=backend, config=OVER, invocations=100),
        lambda: vy.check(doubled, x=X, backend=backend, config=OVER),
        lambda: vy.grid_for(doubled, 100, OVER),
    ):
        with pytest.raises(InvalidLaunch, match=OF_SHAPE):
            call()
    wide = vy.DispatchConfig(workgroup_override=(256, 1, 1))
    assert (doubled.on(backend, config=wide)(X) == 2).all()


def test_a_dispatch_of_a_graph_is_refused() -> None:
    with vy.graph("doubles") as g:
        x = g.input("x", vy.f32, 100)
        with pytest.raises(InvalidLaunch, match=OF_SHAPE):
            g.dispatch(doubled, x=x, config=OVER)
        with pytest.raises(InvalidLaunch, match=OF_SHAPE):
            g.dispatch(of_program(shape="n"), x=x)
        with pytest.raises(InvalidLaunch, match=OF_SHAPE):
            g.dispatch(doubled, x=x, config=OVER, invocations=100)


def test_a_size_to_try_is_refused() -> None:
    with pytest.raises(InvalidLaunch, match=OF_SHAPE):
        vy.tune(doubled, x=X, backend="cpu", workgroup_sizes=[(128, 1, 1), (8, 8, 1)])


def test_a_builder_refuses_it_beside_the_shape_that_it_states() -> None:
    message = r"workgroup_size \(8, 8, 1\) has 8 invocations on y, .* Fix: write workgroup_size=64, or state a longer"
    with pytest.raises(vy.BuildError, match=message):
        vy.program("flat", workgroup_size=(8, 8), shape=("n",))
    vy.program("image", workgroup_size=(8, 8), shape=("h", "w"))


def test_a_program_is_refused_where_the_shape_of_its_output_gives_the_grid() -> None:
    program = of_program(shape="n")
    with pytest.raises(InvalidLaunch, match=OF_SHAPE):
        vy.run(program, x=X, backend="reference")
    with pytest.raises(InvalidLaunch, match=OF_SHAPE):
        vy.run(program, x=X, backend="reference", invocations=100)
    assert (vy.run(program, x=X, backend="reference", invocations=(100, 8))["out"] == 2).all()


def test_a_program_without_a_shape_is_refused_where_it_does_not_ask_for_its_place() -> None:
    message = r"workgroup size: got \(8, 8, 1\), expected one invocation on y, as the program does not ask"
    with pytest.raises(InvalidLaunch, match=message):
        vy.run(of_program(), x=X, backend="reference")
    with vy.graph("doubles") as g, pytest.raises(InvalidLaunch, match=message):
        g.dispatch(of_program(), x=g.input("x", vy.f32, 100))
    with vy.program("tiles", workgroup_size=(8, 8)) as p:
        x = p.read("x", vy.f32)
        out = p.write("out", vy.f32, like=x)
        i = p.workgroup_id(0) * 64 + p.local_id(1) * 8 + p.local_id(0)
        out[i] = x[i] * 2.0
    assert (vy.run(p.build(), x=X, backend="reference")["out"] == 2).all()


def test_a_dispatch_of_a_graph_says_how_many_invocations_there_are_on_y() -> None:
    with vy.program("image", workgroup_size=(8, 8)) as p:
        x = p.read("x", vy.f32)
        p.write("out", vy.f32, like=x)[p.global_id(1) * 10 + p.global_id(0)] = 1.0
    with vy.graph("images") as g:
        x = g.input("x", vy.f32, 100)
        with pytest.raises(InvalidLaunch, match="expected how many there are on y"):
            g.dispatch(p.build(), x=x)
        out = g.dispatch(p.build(), x=x, invocations=(10, 10))["out"]
        g.output("out", out)
    assert (g.compile("reference").run({"x": X})["out"] == 1).all()


def test_a_run_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "doubled.vyre").write_text(str(vy.print_program(of_program())))
    np.save(tmp_path / "x.npy", X)
    given = ["run", str(tmp_path / "doubled.vyre"), "--input", f"x={tmp_path / 'x.npy'}", "--backend", "reference"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code != 0
    assert "expected one invocation on y" in result.output


def test_an_indirect_grid_is_not_that_of_the_shape() -> None:
    with vy.program("indirect", workgroup_size=(1, 2)) as p:
        grid, out = p.read("grid", vy.u32), p.write("out", vy.u32, shape=6)
        p.indirect_dispatch(grid)
        out[p.global_id(1) * 2 + p.global_id(0)] = 1
    assert vy.run(p.build(), grid=np.uint32([2, 1, 1]), backend="reference")["out"].tolist() == [1, 1, 1, 1, 0, 0]
