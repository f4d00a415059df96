"""What `import vyre` gives."""

import ast
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import vyre
import vyre_algorithms
import vyre_driver
import vyre_foundation
import vyre_reference
from vyre_math.dialect import FUNCTIONS

LAYERS = """
    algorithms conform distributed driver driver_cpu driver_cuda driver_opencl foundation math reference
""".split()


def test_all_names_are_there() -> None:
    assert all(hasattr(vyre, name) for name in vyre.__all__)
    assert {"parse", "u32", "run", "exp", "__version__"} <= set(dir(vyre))
    assert vyre.parse is vyre_foundation.parse


@pytest.mark.parametrize("name", ["DispatchTimeout", "InvalidGraph", "InvalidInput", "InvalidLaunch", "Trapped"])
def test_errors_of_launches_are_caught_by_names_of_vyre(name: str) -> None:
    assert getattr(vyre, name) is getattr(vyre_driver, name)


def test_races_are_caught_by_a_name_of_vyre() -> None:
    assert vyre.DataRace is vyre_reference.DataRace


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="'vyre' has no attribute 'rnu'"):
        vyre.rnu  # noqa: B018


@pytest.mark.parametrize("layer", ["", *(f"_{name}" for name in LAYERS)])
def test_dir_shows_the_public_names(layer: str) -> None:
    """Not the modules and functions that a package itself is made with."""
    module = importlib.import_module(f"vyre{layer}")
    shown = {found for found in dir(module) if not found.startswith("__")}
    assert shown == {public for public in module.__all__ if not public.startswith("__")}


def test_every_name_says_what_it_is() -> None:
    """Functions and classes by a summary of their own, constants by that of their class."""
    for name in {*vyre.__all__} - {"OPS"}:  # a mapping of Python
        value = getattr(vyre, name)
        text = inspect.getdoc(value)
        assert text, name
        summary = text.split("\n\n")[0].replace("\n", " ")
        assert summary.endswith((".", ":")), (name, summary)
        if inspect.isfunction(value) and inspect.signature(value).parameters:
            assert "Args:\n" in text or any(f"`{name}`" in text for name in inspect.signature(value).parameters), text


def test_algorithms_are_at_the_front_door_unless_the_language_has_their_names() -> None:
    language = {*vyre_foundation.__all__, *vyre_foundation.functions.__all__, *FUNCTIONS, "dot"}
    for name in vyre_algorithms.__all__:
        if name not in language:
            assert getattr(vyre, name) is getattr(vyre_algorithms, name)
        assert getattr(vyre.algorithms, name) is getattr(vyre_algorithms, name)


@pytest.mark.parametrize("name", ["min", "max", "dot"])
def test_names_of_the_language_take_arrays(name: str) -> None:
    x = np.float32([[3, 1], [4, 1]])
    function, algorithm = getattr(vyre, name), getattr(vyre_algorithms, name)
    if name == "dot":
        assert function(x[0], x[1]) == algorithm(x[0], x[1], backend="reference") == 13
    else:
        assert function(x) == algorithm(x) == getattr(x, name)()
        assert function(np.float32(3)) == algorithm(np.float32(3)) == 3
        with pytest.raises(vyre.VyreError, match=r"got float, expected an array\. Fix: pass a NumPy array"):
            function(3.0)
        assert (
            function(x, 0).tolist() == function(vyre.array(x), axis=0).numpy().tolist() == getattr(x, name)(0).tolist()
        )
    with pytest.raises(vyre.VyreError, match=r"got list, expected an array\. Fix: pass a NumPy array"):
        function([1, 2], [3, 4])


def test_elementary_functions_say_what_the_table_of_the_dialect_says() -> None:
    for name, function in FUNCTIONS.items():
        text = inspect.getdoc(getattr(vyre, name))
        assert text is not None
        assert text.startswith(f"Compute {function.summary}, "), name


def test_type_checkers_see_the_names_that_there_are() -> None:
    stub = ast.parse(Path(vyre.__file__).with_suffix(".pyi").read_text("utf-8"))
    lists = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    named = next(ast.literal_eval(value) for value in lists if isinstance(value, ast.List))
    generated = {*vyre_foundation.functions.__all__, *FUNCTIONS}
    assert sorted({*named, *generated}) == sorted({*vyre.__all__})
