"""`vy.run`: one call, arrays by name, the backend by id or the best one."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

import vyre as vy
from vyre_driver import ShadowDiverged
from vyre_driver.errors import InvalidInput
from vyre_reference import DataRace


def xor_program() -> vy.Program:
    with vy.program("xor", workgroup_size=64) as p:
        a, b = p.read("a", vy.u32), p.read("b", vy.u32)
        out = p.write("out", vy.u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] ^ b[i]
    return p.build()


class Wrong(vy.VyreBackend, contract=1):
    """Right but for the first bit."""

    def __init__(self, right: vy.VyreBackend) -> None:
        self.right = right

    def id(self) -> str:
        return "wrong"

    def dispatch(self, program, inputs, config=vy.DispatchConfig()):  # noqa: B008
        outputs = self.right.dispatch(program, inputs, config)
        outputs[0][0] ^= 1
        return outputs


@pytest.fixture
def operands() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    a, b = random.integers(0, 2**32, (2, 1000), dtype=np.uint32)
    return a, b


@pytest.mark.parametrize("backend", [None, "auto", "reference", "cpu"])
def test_the_example_of_the_readme(backend: str | None, operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    np.testing.assert_array_equal(vy.run(xor_program(), a=a, b=b, backend=backend)["out"], a ^ b)


def test_inputs_may_come_as_a_mapping(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    np.testing.assert_array_equal(vy.run(xor_program(), {"a": a, "b": b}, backend="reference")["out"], a ^ b)


def test_without_a_name_the_reference_is_not_chosen() -> None:
    assert vy.backend_for(None).id() != "reference"


def test_a_backend_is_opened_once() -> None:
    assert vy.backend_for("reference") is vy.backend_for("reference")


def test_a_backend_object_is_used_as_it_is(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    backend = vy.backend_for("reference")
    np.testing.assert_array_equal(vy.run(xor_program(), a=a, b=b, backend=backend)["out"], a ^ b)


def test_a_profile_compares_with_the_reference(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    backend = Wrong(vy.backend_for("reference"))
    with pytest.raises(ShadowDiverged, match=r"out\[0\]: got "):
        vy.run(xor_program(), a=a, b=b, backend=backend, config=vy.DispatchConfig(profile="shadow:2"))
    vy.run(xor_program(), a=a, b=b, backend=backend, config=vy.DispatchConfig(profile="shadow:2"))
    vy.run(xor_program(), a=a, b=b, backend=backend)


def test_an_unknown_backend_says_what_there_is() -> None:
    with pytest.raises(
        LookupError, match=r"no backend 'gpu' is registered \(registered: .*reference.*\)\. Fix: choose"
    ):
        vy.run(xor_program(), backend="gpu")


def test_a_missing_input_is_named(operands: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(ValueError, match=r"argument 'b': got nothing, expected an array of u32\. Fix: "):
        vy.run(xor_program(), a=operands[0], backend="reference")


def test_an_input_of_another_type_is_named(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    with pytest.raises(ValueError, match=r"argument 'b': got one of int64, expected an array of uint32\. Fix: convert"):
        vy.run(xor_program(), a=a, b=b.astype(np.int64), backend="reference")


def coordinates() -> vy.Program:
    with vy.program("coordinates", workgroup_size=(16, 8)) as p:
        size, out = p.uniform("size", vy.u32, 2), p.read_write("out", vy.u32)
        x, y = p.global_id(0), p.global_id(1)
        with p.if_((x < size[0]) & (y < size[1])):
            out[y * size[0] + x] = y * 1000 + x
    return p.build()


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_invocations_cover_an_image_and_outputs_keep_its_shape(backend: str) -> None:
    image = np.zeros((30, 50), np.uint32)
    given = {"size": np.uint32([50, 30]), "out": image}
    expected = np.arange(30, dtype=np.uint32)[:, None] * 1000 + np.arange(50, dtype=np.uint32)
    for _ in range(3):  # the first run prepares what the others find
        out = vy.run(coordinates(), given, backend=backend, invocations=(50, 30))["out"]
        np.testing.assert_array_equal(out, expected)
    assert not image.any()


def test_a_program_that_asks_for_y_says_how_many_there_are() -> None:
    given = {"size": np.uint32([50, 30]), "out": np.zeros(1500, np.uint32)}
    said = r"invocations: got none, expected how many there are on y, .* Fix: pass invocations=\(width, height\)"
    for call in (vy.run, vy.check):
        with pytest.raises(ValueError, match=said):
            call(coordinates(), given)
    grid = vy.grid_for(coordinates(), (50, 30))
    assert grid == (4, 4, 1)
    assert vy.run(coordinates(), given, config=vy.DispatchConfig(grid_override=grid), backend="reference")["out"].any()


def test_a_place_in_the_workgroup_or_an_indirect_grid_needs_no_invocations() -> None:
    with vy.program("tile", workgroup_size=(4, 4)) as p:
        out = p.write("out", vy.u32, 16)
        out[p.local_id(1) * 4 + p.local_id(0)] = p.num_workgroups(1)
    assert vy.run(p.build(), backend="reference")["out"].tolist() == [1] * 16
    with vy.program("indirect", workgroup_size=1) as p:
        grid, out = p.read("grid", vy.u32), p.write("out", vy.u32, 6)
        p.indirect_dispatch(grid)
        out[p.global_id(1) * 2 + p.global_id(0)] = 1
    assert vy.run(p.build(), grid=np.uint32([2, 3, 1]), backend="reference")["out"].tolist() == [1] * 6


def test_invocations_do_not_replace_an_indirect_grid() -> None:
    with vy.program("indirect", workgroup_size=1) as p:
        grid, out = p.read("grid", vy.u32, 3), p.write("out", vy.u32, 6)
        p.indirect_dispatch(grid)
        out[p.global_id(0)] = 1
    words, made = np.uint32([2, 1, 1]), p.build()
    said = (
        r"invocations: got 6, expected none, as .* words of 'grid'.* Fix: pass the grid in 'grid', or .*grid_override"
    )
    for run in (vy.run, vy.check):
        with pytest.raises(vy.VyreError, match=said):
            run(made, grid=words, invocations=6, backend="reference")
    with vy.graph("indirect") as g, pytest.raises(vy.VyreError, match=said):
        g.dispatch(made, {"grid": g.input("words", vy.u32, 3)}, invocations=6)
    override = vy.DispatchConfig(grid_override=vy.grid_for(made, 6))
    assert vy.run(made, grid=words, config=override, backend="reference")["out"].tolist() == [1] * 6


@pytest.mark.parametrize(
    ("invocations", "grid"), [(100, (7, 1, 1)), ((100,), (7, 1, 1)), ((16, 8, 3), (1, 1, 3)), ((0, 9), (0, 2, 1))]
)
def test_grids_hold_at_least_the_invocations(invocations: int | tuple[int, ...], grid: tuple[int, int, int]) -> None:
    assert vy.grid_for(coordinates(), invocations) == grid
    assert vy.grid_for(coordinates(), np.uint32(100)) == (7, 1, 1)
    assert vy.grid_for(coordinates(), (100, 9), vy.DispatchConfig(workgroup_override=(4, 2, 1))) == (25, 5, 1)


@pytest.mark.parametrize("invocations", [-1, (), (1, 2, 3, 4), 1.5, "x", (1, "x"), True, {1: 2}, None])
def test_what_is_no_number_of_invocations_is_refused(invocations: object) -> None:
    with pytest.raises(vy.VyreError, match=r"invocations: got .*, expected one, two or three integers .*Fix: "):
        vy.grid_for(coordinates(), invocations)  # type: ignore[arg-type]


MISTAKES = {
    "an array by position": (lambda g, x: vy.run(g, x), "inputs: got ndarray, expected a Mapping"),
    "no program": (lambda g, x: vy.run(None, x=x), "program: got None, expected a Program"),
    "text": (lambda g, x: vy.run("xor", x=x), "program: got str, expected a Program"),
    "a builder": (lambda g, x: vy.run(vy.program("p"), x=x), "program: got ProgramBuilder, .*Fix: pass what build"),
    "a dictionary": (lambda g, x: vy.run(g, a=x, b=x, config={}), "config: got dict, expected a DispatchConfig"),
    "a number of a backend": (lambda g, x: vy.run(g, a=x, b=x, backend=3), "backend: got int, expected a string"),
    "a profile": (
        lambda g, x: vy.run(g, a=x, b=x, config=vy.DispatchConfig(profile="fast")),
        "profile: got 'fast', .*Fix: name a dispatch",
    ),
    "half a profile": (
        lambda g, x: vy.run(g, a=x, b=x, config=vy.DispatchConfig(profile="shadow:0")),
        "profile: got 'shadow:0'",
    ),
    "two grids": (
        lambda g, x: vy.run(g, a=x, b=x, invocations=1, config=vy.DispatchConfig(grid_override=(1, 1, 1))),
        "invocations: got both",
    ),
    "a list": (lambda g, x: vy.run(g, a=[1], b=x), r"argument 'a': got list, .*numpy\.asarray\(…, 'uint32'\)"),
    "text as timeout": (lambda g, x: vy.DispatchConfig(timeout="1"), "timeout: got '1', expected a number of seconds"),
    "a number as label": (lambda g, x: vy.DispatchConfig(label=3), "label: got 3, expected a string or None"),
    "text as preference": (
        lambda g, x: vy.DispatchConfig(speculation="force"),
        "speculation: got 'force', expected a Preference",
    ),
    "None as preference": (
        lambda g, x: vy.DispatchConfig(speculation=None),
        "speculation: got None, expected a Preference",
    ),
    "text as flag": (lambda g, x: vy.DispatchConfig(cooperative="no"), "cooperative: got 'no', expected True or False"),
    "a grid for no program": (lambda g, x: vy.grid_for(3, 4), "program: got int, expected a Program"),
    "a check of no program": (lambda g, x: vy.check(3), "program: got int, expected a Program"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_of_callers_are_named(name: str) -> None:
    call, said = MISTAKES[name]
    with pytest.raises(vy.VyreError, match=rf"{said}.*Fix: |{said}"):
        call(xor_program(), np.zeros(4, np.uint32))


def test_a_race_names_both_invocations_the_element_and_the_lines() -> None:
    with vy.program("neighbour", workgroup_size=4) as p:
        x = p.read("x", vy.u32)
        out = p.write("out", vy.u32, like=x)
        shared, lane = p.workgroup("shared", vy.u32, 4), p.local_id(0)
        shared[lane] = x[p.global_id(0)]
        wrote = sys._getframe().f_lineno - 1
        out[p.global_id(0)] = shared[3 - lane]
    with pytest.raises(DataRace) as caught:
        vy.check(p.build(), x=np.arange(8, dtype=np.uint32))
    assert str(caught.value) == (
        f"shared[0]: invocation 0 writes at body[0] ({__file__}:{wrote}) and invocation 3 reads at body[1] "
        f"({__file__}:{wrote + 2}), with no barrier between them. Fix: put a barrier between the two, make both "
        "atomic, or give each invocation an element of its own"
    )


def test_the_reference_checks_with_a_detector_of_its_own() -> None:
    with vy.program("writes", workgroup_size=4) as p:
        out = p.write("out", vy.u32, 8)
        out[p.global_id(0) // 2] = 1
    with pytest.raises(DataRace, match=r"out\[0\]: invocation 0 writes .* and invocation 1 writes"):
        vy.check(p.build(), backend="reference")


def test_a_check_without_a_race_gives_the_outputs(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = (x[:60].reshape(6, 10) for x in operands)
    np.testing.assert_array_equal(vy.check(xor_program(), {"a": a}, b=b)["out"], a ^ b)


def test_every_public_name_exists() -> None:
    for name in vy.__all__:
        assert getattr(vy, name) is not None


def test_a_scalar_is_a_uniform_of_one_element_as_its_value() -> None:
    def scaled(by: Callable[[vy.ProgramBuilder], vy.Value]) -> vy.Program:
        with vy.program("scaled", workgroup_size=64) as p:
            factor, x = by(p), p.read("x", vy.u32)
            out = p.write("out", vy.u32, like=x)
            out[p.global_id(0)] = x[p.global_id(0)] * factor
        return p.build()

    program = scaled(lambda p: p.scalar("by", vy.u32))
    assert program.fingerprint() == scaled(lambda p: p.uniform("by", vy.u32, 1)[0]).fingerprint()
    assert vy.run(program, x=np.uint32([1, 2]), by=3, backend="reference")["out"].tolist() == [3, 6]


def test_a_program_that_was_read_from_bytes_says_that_it_has_lost_its_shapes() -> None:
    with vy.program("add", shape=("h", "w")) as p:
        x = p.read("x", vy.u32, shape=("h", "w"))
        out = p.write("out", vy.u32, shape=("h", "w"))
        y, i = p.global_id(1), p.global_id(0)
        out[y, i] = x[y, i] + 1
    built = p.build()
    read, x = vy.decode(vy.encode(built)), np.arange(6, dtype=np.uint32).reshape(2, 3)
    match = r"launch\.shape.*2 lengths of axes, because bytes and text do not hold.*Fix: give it the shapes"
    with pytest.raises(InvalidInput, match=match):
        vy.run(read, x=x)
    lengths = {"launch.shape": np.array([2, 3], np.uint32)}
    assert vy.run(read, lengths, x=x, invocations=(3, 2))["out"].tolist() == (x + 1).tolist()
    assert vy.run(read.with_shapes(built.shapes), x=x)["out"].tolist() == (x + 1).tolist()
