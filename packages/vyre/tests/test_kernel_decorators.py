"""Other decorators on kernels and device functions are refused by name where they would be lost, or break calls."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vyre as vy

HEAD = """
import functools
from functools import lru_cache
import numpy as np
import vyre as vy

def wrapped(function):
    @functools.wraps(function)
    def inner(*arrays):
        return function(*arrays)
    return inner

def bare(function):
    def inner(*arrays):
        return function(*arrays)
    return inner

def named(function):
    def inner(x):
        return function(x)
    return inner

def noted(function):
    function.is_noted = True
    return function

def of_options(limit):
    return wrapped

KERNEL = vy.kernel(shape="n")
"""
BODY = """def {name}({self}x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] * 2.0
"""
X = np.float32([1, 2])

HASHING = "finds what it has computed by the hashes of the arguments, which arrays do not have"
PASSING = "passes an object before the arguments, for which there is no parameter"
OWN = "wraps 'half', which is compiled from the source of the function itself"
ONCE = "leave it out: a kernel is compiled once"
ABOVE = "leave it out, or write it above @vy.kernel, where it wraps the calls"
STATIC = "write @staticmethod in its place, above the others"

REFUSED = [
    ("@functools.lru_cache @vy.kernel", f"'functools.lru_cache' {HASHING}", ONCE, "@vy.kernel"),
    ("@lru_cache(maxsize=8) @vy.kernel()", f"'lru_cache(maxsize=8)' {HASHING}", ONCE, "@vy.kernel()"),
    ("@vy.kernel @functools.cache", f"'functools.cache' {HASHING}", ONCE, "@vy.kernel"),
    ("@vy.kernel @wrapped", f"'wrapped' {OWN}", ABOVE, "@wrapped @vy.kernel"),
    ("@vy.kernel(shape='n') @noted @of_options(3)", f"'noted' {OWN}", ABOVE, "@noted @of_options(3) @vy.kernel"),
    ("@KERNEL @wrapped", f"'wrapped' {OWN}", ABOVE, "@wrapped @KERNEL"),
    ("@vy.kernel @vy.kernel", f"'vy.kernel' {OWN}", "leave one of them out", "@vy.kernel"),
    ("@vy.kernel @vy.func", f"'vy.func' {OWN}", "leave one of them out", "@vy.kernel"),
    ("@vy.func @vy.kernel", f"'vy.kernel' {OWN}", "leave one of them out", "@vy.kernel"),
]
OF_METHODS = [
    ("@vy.kernel @staticmethod", f"'staticmethod' {OWN}", "write it above the others", "@staticmethod @vy.kernel"),
    ("@classmethod @vy.kernel", f"'classmethod' {PASSING}", STATIC, "@staticmethod @vy.kernel"),
    ("@vy.kernel @classmethod", f"'classmethod' {PASSING}", STATIC, "@staticmethod @vy.kernel"),
    ("@property @vy.kernel", f"'property' {PASSING}", STATIC, "@staticmethod @vy.kernel"),
    (
        "@functools.cached_property @vy.kernel",
        f"'functools.cached_property' {PASSING}",
        STATIC,
        "@staticmethod @vy.kernel",
    ),
]


def module_of(tmp_path: Path, text: str) -> dict[str, Any]:
    """What a module with a text defines."""
    file = tmp_path / "student.py"
    file.write_text(HEAD + text, "utf-8")
    scope: dict[str, Any] = {"__name__": "student"}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), scope)
    return scope


def decorated(decorators: str, *, in_class: bool) -> str:
    text = decorators.replace(" @", "\n@") + "\n" + BODY.format(name="half", self="")
    return f"class Holder:\n{textwrap.indent(text, '    ')}\nhalf = Holder.half" if in_class else text


def refusal(tmp_path: Path, text: str) -> vy.VyreError:
    with pytest.raises(vy.VyreError) as error:
        module_of(tmp_path, text)
    return error.value


@pytest.mark.parametrize(("decorators", "message", "fix", "remedied"), REFUSED + OF_METHODS)
def test_decorators_that_break_a_kernel_are_refused_by_name(decorators, message, fix, remedied, tmp_path):
    in_class = (decorators, message, fix, remedied) in OF_METHODS
    error = refusal(tmp_path, decorated(decorators, in_class=in_class))
    assert isinstance(error, vy.KernelError)
    assert (error.message, error.fix) == (f"the decorator {message}", fix)
    assert error.fields["line"].strip() in decorators.replace(" @", "\n@").split("\n")
    found = module_of(tmp_path, decorated(remedied, in_class=in_class))
    assert found["half"](X).tolist() == [2, 4]
    if in_class:
        assert found["Holder"]().half(X).tolist() == [2, 4]


@pytest.mark.parametrize("decorators", ["@vy.kernel @noted", "@noted @vy.kernel", "@wrapped @vy.kernel", "@KERNEL"])
def test_decorators_that_break_nothing_are_taken(decorators, tmp_path):
    assert module_of(tmp_path, decorated(decorators, in_class=False))["half"](X).tolist() == [2, 4]


@pytest.mark.parametrize("maker", ["bare", "named"])
def test_a_function_that_a_decorator_made_is_refused_with_a_hint(maker, tmp_path):
    error = refusal(tmp_path, decorated(f"@vy.kernel @{maker}", in_class=False))
    assert error.fix.endswith("; if a decorator has made this function, write that above @vy.kernel")
    assert module_of(tmp_path, decorated(f"@{maker} @vy.kernel", in_class=False))["half"](X).tolist() == [2, 4]


def test_a_wrapper_that_is_passed_is_refused(tmp_path):
    error = refusal(tmp_path, BODY.format(name="half", self="") + "made = vy.kernel(wrapped(half))")
    assert error.message == "'half' is wrapped, and a kernel is compiled from the source of the function itself"
    assert error.fix == "pass the function itself"
    assert module_of(tmp_path, BODY.format(name="half", self="") + "made = vy.kernel(half)")["made"](X).tolist() == [
        2,
        4,
    ]


@pytest.mark.parametrize(
    ("given", "got", "fix"),
    [
        ("64", "int", "name the options, as in @vy.kernel(workgroup_size=64) or @vy.kernel(shape='n')"),
        ("('h', 'w')", "tuple", "name the options, as in @vy.kernel(workgroup_size=64) or @vy.kernel(shape='n')"),
        ("functools.partial(bare)", "partial", "decorate a function that `def` makes"),
        ("type('Ball', (), {})", "type", "decorate a function that `def` makes; a structure is @vy.struct"),
    ],
)
def test_what_is_no_function_is_refused(given, got, fix, tmp_path):
    error = refusal(tmp_path, f"vy.kernel({given})")
    assert str(error) == f"got {got}, expected a function. Fix: {fix}"


CALLED = """
def doubled(x):
    return x * 2.0

@vy.kernel
def half(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return doubled(x[vy.index()])

result = half(np.float32([1, 2])).tolist()
"""
OF_FUNCTIONS = [
    ("@vy.func @wrapped", "the decorator 'wrapped' wraps 'doubled'", "leave it out"),
    ("@wrapped @vy.func", "'doubled' is wrapped, and a kernel", "leave out the decorator above that of 'doubled'"),
    ("@functools.cache @vy.func", "the decorator 'functools.cache' finds", ONCE),
    ("@wrapped", "doubled(…) is a function of Python", "decorate doubled with @vy.func"),
    ("@wrapped @vy.kernel", "the parameter 'x' has no annotation", "write its type, such as vy.f32 or vy.Array[v"),
]


@pytest.mark.parametrize(("decorators", "message", "fix"), OF_FUNCTIONS)
def test_decorators_that_break_a_device_function_are_refused(decorators, message, fix, tmp_path):
    error = refusal(tmp_path, decorators.replace(" @", "\n@") + CALLED)
    assert isinstance(error, vy.KernelError)
    assert error.message.startswith(message)
    assert error.fix.startswith(fix)
    assert module_of(tmp_path, "@vy.func" + CALLED)["result"] == [2, 4]


def test_a_lambda_is_not_a_device_function(tmp_path):
    text = CALLED.replace("def doubled(x):\n    return x * 2.0", "doubled = lambda x: x * 2.0")
    error = refusal(tmp_path, text)
    assert error.fix == "make it a function with `def`, and decorate that with @vy.func"
    with pytest.raises(vy.BuildError, match="got a lambda"):
        module_of(tmp_path, "vy.func(lambda x: x * 2.0)")


@pytest.mark.parametrize("kind", ["staticmethod", "classmethod", "property", "wrapped"])
def test_methods_of_structures_are_plain_functions(kind, tmp_path):
    text = f"""
@vy.struct
class Ball(vy.Struct):
    place: vy.f32

    @{kind}
    def doubled(self) -> vy.f32:
        return self.place * 2.0

@vy.kernel
def half(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return Ball(x[vy.index()]).doubled()
"""
    error = refusal(tmp_path, text)
    if kind == "wrapped":
        assert isinstance(error, vy.KernelError)
        assert (error.message.split(",")[0], error.fix) == ("the decorator 'wrapped' wraps 'doubled'", "leave it out")
    else:
        assert error.message == f"Ball.doubled is a {kind}, and methods of structures are functions"
        assert error.fix == "leave the decorator out, and call it as a method of a value"
    assert module_of(tmp_path, text.replace(f"    @{kind}\n", ""))["half"](X).tolist() == [2, 4]


OPTIONS = "workgroup_size, subgroup_size, shape, backend"
SHAPE = "state the shape of the launch, one invocation for each element, as in @vy.kernel(shape='n')"


@pytest.mark.parametrize(
    ("decorate", "message", "fix"),
    [
        (lambda: vy.kernel(grid=3), f"the option 'grid' of @vy.kernel, expected one of {OPTIONS}", SHAPE),
        (
            lambda: vy.kernel(block=64, shape="n"),
            f"the option 'block' of @vy.kernel, expected one of {OPTIONS}",
            "write workgroup_size",
        ),
        (
            lambda: vy.kernel(workgroup=64),
            f"the option 'workgroup' of @vy.kernel, expected one of {OPTIONS}",
            "write workgroup_size",
        ),
        (
            lambda: vy.kernel(fastmath=True),
            f"the option 'fastmath' of @vy.kernel, expected one of {OPTIONS}",
            "leave it out",
        ),
        (lambda: vy.func(inline=True), "the option 'inline' of @vy.func, expected none", "leave it out"),
        (lambda: vy.struct(align=16), "the option 'align' of @vy.struct, expected none", "leave it out"),
        (lambda: vy.func(), "no function, expected one", "write @vy.func, without parentheses"),
        (lambda: vy.struct(), "no class, expected one", "write @vy.struct, without parentheses"),
    ],
)
def test_options_that_a_decorator_does_not_have(decorate, message: str, fix: str) -> None:
    with pytest.raises(vy.BuildError) as error:
        decorate()
    assert str(error.value) == f"got {message}. Fix: {fix}"
