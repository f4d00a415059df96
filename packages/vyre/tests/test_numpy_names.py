"""The errors for names of NumPy that are not here: what they say to write runs, and gives what NumPy gives."""

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import vyre as vy
import vyre_algorithms
from vyre.kernel_names import KERNELS, ROWS
from vyre_algorithms.numpy_names import ARRAYS, ELEMENTS, FUNCTIONS, LEARNING


def function(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    """What becomes a kernel."""
    return x[vy.index()]


GIVEN: Mapping[str, Any] = {
    "x": np.float32([0.5, 0.25, 1.0, 0.75, 0.5, 0.125, 1.0]),
    "y": np.float32([0.25, 0.5, 1.0, 0.5, 0.75, 0.5, 0.25]),
    "w": np.float32([1, 2, 3, 4, 3, 2, 1]),
    "n": np.uint32([7, 1, 12, 255, 6, 0, 9]),
    "k": np.uint32([3, 2, 5, 4, 4, 1, 2]),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) % 5,
    "a": vy.array(np.float32([1, 2]), backend="reference"),
    "mask": np.array([True, False, True, True, False, False, True]),
    "other": np.array([True, True, False, True, False, True, False]),
    "edges": np.float32([0.2, 0.5, 0.9]), "indices": np.array([6, 0, 2, 1, 5, 3, 4]),
    "low": 0.25, "high": 0.5, "q": 0.4, "key": 7, "size": 5, "shape": (2, 3),
    "function": function, "numpy": np, "vyre": vy,
}  # fmt: skip
NUMPY = {
    "amax": "numpy.amax(x)", "amin": "numpy.amin(x)", "asnumpy": "numpy.asarray(a)",
    "astype": "numpy.astype(x, numpy.float64)", "average": "numpy.average(x, weights=w)",
    "compress": "numpy.compress(mask, x)", "copy": "numpy.copy(x)", "count_nonzero": "numpy.count_nonzero(x)",
    "cummax": "numpy.maximum.accumulate(x)", "cummin": "numpy.minimum.accumulate(x)",
    "cumulative_prod": "numpy.cumprod(x)", "cumulative_sum": "numpy.cumsum(x)", "diff": "numpy.diff(x)",
    "digitize": "numpy.digitize(x, edges)", "empty_like": "numpy.zeros_like(x)", "extract": "numpy.extract(mask, x)",
    "fft2": "numpy.fft.fft2(m)", "flatnonzero": "numpy.flatnonzero(mask)", "flip": "numpy.flip(x)",
    "inner": "numpy.inner(x, y)", "isin": "numpy.isin(x, y)", "lexsort": "numpy.lexsort((y, x))",
    "median": "numpy.median(x)",
    **{f"nan{name}": f"numpy.nan{name}(x)" for name in ("max", "mean", "min", "prod", "std", "sum", "var")},
    "nonzero": "numpy.nonzero(mask)[0]", "norm": "numpy.linalg.norm(x)", "outer": "numpy.outer(x, y)",
    "permute_dims": "numpy.transpose(m, (1, 0))", "ptp": "numpy.ptp(x)", "put": "w[numpy.argsort(indices)]",
    "quantile": "numpy.quantile(x, q)", "ravel": "numpy.ravel(m)",
    "reshape": "numpy.reshape(x, (1, -1))", "swapaxes": "numpy.swapaxes(m, 0, 1)", "take": "numpy.take(x, indices)",
    "union1d": "numpy.union1d(x, y)", "unique_counts": "numpy.unique_counts(x)[1]",
    "unique_values": "numpy.unique(x)", "vdot": "numpy.vdot(x, y)", "vecdot": "numpy.vecdot(x, y)",
    "zeros_like": "numpy.zeros_like(x)",
}  # fmt: skip
"""What gives the result in NumPy, except where it is a function or random."""
OTHERS = set(
    "choice default_rng frompyfunc integers jit permutation rand randint randn random standard_normal vectorize".split()
)


def module_of(tmp_path: Path, source: str) -> ModuleType:
    """The module of a file, in which kernels have a source."""
    file = tmp_path / "kernels.py"
    file.write_text(f"import numpy as np\nimport vyre\nimport vyre as vy\n{source}", "utf-8")
    spec = importlib.util.spec_from_file_location("kernels", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernel_of(name: str, code: str, result: str) -> tuple[str, list[str]]:
    """A kernel that returns the code of an element, and the names of what it takes."""
    names = [*dict.fromkeys(re.findall(r"\b(?:x|y|n|k|mask|other|low|high)\b", code))]
    types = {"n": "u32", "k": "u32", "mask": "bool_", "other": "bool_"}
    declared = [
        f"{x}: vy.f32" if x in ("low", "high") else f"{x}: vy.Array[vy.{types.get(x, 'f32')}, 'p']" for x in names
    ]
    head = f"@vy.kernel\ndef {name}({', '.join(declared)}) -> vy.Array[vy.{result}, 'p']:\n"
    return f"{head}    i = vy.index()\n    return {code}\n", names


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")  # since NumPy 2.5
def test_what_is_said_of_elements_is_what_numpy_computes(tmp_path: Path) -> None:
    source, arguments, expected = "", {}, {}
    for name, code in ELEMENTS.items():
        names = kernel_of(name, code, "f32")[1]
        wanted = getattr(np, "bitwise_count" if name == "bit_count" else name)(*(GIVEN[x] for x in names))
        if name.endswith("_count"):
            wanted = wanted.astype(np.uint32)
        result = {"float32": "f32", "uint32": "u32", "bool": "bool_"}[wanted.dtype.name]
        source += kernel_of(name, code, result)[0]
        arguments[name], expected[name] = [GIVEN[x] for x in names], wanted
    module = module_of(tmp_path, source)
    for name, wanted in expected.items():
        found = getattr(module, name).on("reference")(*arguments[name])
        np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=name, strict=True)


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_what_is_said_of_arrays_is_what_numpy_computes(name: str) -> None:
    found = eval(ARRAYS[name], dict(GIVEN))
    if name not in OTHERS:
        found = found.counts if name == "unique_counts" else found
        np.testing.assert_allclose(np.asarray(found), eval(NUMPY[name], dict(GIVEN)), rtol=1e-6, err_msg=name)


def test_choices_are_drawn_with_replacement() -> None:
    """As `numpy.random.choice` draws, on which a bootstrap relies."""
    given = {**GIVEN, "size": 7000, "high": 7}
    numbers = eval(ARRAYS["integers"], given)
    assert np.bincount(numbers).min() > 800
    assert np.array_equal(eval(ARRAYS["choice"], given), GIVEN["x"][numbers])


def test_differences_of_unsigned_numbers_wrap() -> None:
    found = eval(ARRAYS["diff"], {**GIVEN, "x": GIVEN["n"]})
    assert np.array_equal(found, np.diff(GIVEN["n"]))
    assert found.dtype == np.uint32


def test_what_is_said_of_functions_for_learning_is_what_they_compute(tmp_path: Path) -> None:
    x = np.append(GIVEN["x"] - np.float32(0.5), np.float32([-90, 90]))
    slope, e = np.float32(0.25), np.exp(-x.astype(np.float64))
    wanted = {
        "gelu": 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x.astype(np.float64) ** 3))),
        "leaky_relu": np.where(x < 0, slope * x, x),
        "relu": np.maximum(x, 0),
        "sigmoid": 1 / (1 + e),
        "silu": x / (1 + e),
        "softplus": np.logaddexp(0, x.astype(np.float64)),
        "swish": x / (1 + e),
    }
    codes = {name: found[1] for name in LEARNING if (found := re.fullmatch(r"write (.*) in a kernel", LEARNING[name]))}
    assert codes.keys() == wanted.keys()
    source = "".join(kernel_of(name, code.replace("slope", "low"), "f32")[0] for name, code in codes.items())
    module = module_of(tmp_path, source)
    for name, expected in wanted.items():
        found = getattr(module, name).on("reference")(*[x, slope] if name == "leaky_relu" else [x])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7, err_msg=name)
    same = {"embedding": "numpy.take(x, indices)", "index_add": "x + w[numpy.argsort(indices)]"}
    for name, written in same.items():
        found = eval(LEARNING[name].removeprefix("write "), dict(GIVEN))
        np.testing.assert_array_equal(found, eval(written, dict(GIVEN)), err_msg=name)


STATEMENTS = [found[1] for row in ROWS if (found := re.fullmatch(r"write (.*) in a kernel", row))]


@pytest.mark.parametrize("code", STATEMENTS)
def test_what_is_said_to_users_of_other_languages_for_kernels_compiles(code: str, tmp_path: Path) -> None:
    size = ", subgroup_size=32" if "subgroup" in code else ""
    body = f"{code} pass" if code.endswith(":") else code if " = " in code or "assert" in code else f"value = {code}"
    types = {
        "x": "InOut[vy.f32",
        "y": "Array[vy.f32",
        "n": "Array[vy.u32",
        "k": "Array[vy.u32",
        "counts": "InOut[vy.u32",
    }
    arrays = ", ".join(f"{name}: vy.{kind}, 'p']" for name, kind in types.items())
    source = f"@vy.kernel(shape='p', workgroup_size=64{size})\ndef ported({arrays}) -> None:\n    i = vyre.index()\n"
    lines = [source, "value, expected = n[i], k[i]", body, "x[i] = y[i]", "counts.atomic_or(i, 0)"]
    kernel = module_of(tmp_path, "\n    ".join(lines)).ported
    given = [np.ones(64, np.float32 if "f32" in kind else np.uint32) for kind in types.values()]
    assert kernel.on("reference")(*given)[0].tolist() == given[1].tolist()


def test_names_of_other_languages_have_one_remedy() -> None:
    assert len(KERNELS) == sum(len(names.split()) for names in ROWS.values())
    assert not KERNELS.keys() & {*vy.__all__, *ELEMENTS, *ARRAYS, *LEARNING}
    calls = {row: found[1] for row in ROWS if (found := re.fullmatch(r"write (.*)(?<! in a kernel)", row))}
    decorators = {row: code.removeprefix("@") for row, code in calls.items()}
    assert all(eval(code, dict(GIVEN)) is not None for code in decorators.values())
    with pytest.raises(AttributeError, match=r"Fix: write vyre\.barrier\(\) in a kernel$"):
        vy.syncthreads  # noqa: B018


def test_what_numpy_computes_is_known_of_all() -> None:
    assert NUMPY.keys() | OTHERS == ARRAYS.keys()
    assert not NUMPY.keys() & OTHERS


def test_names_that_are_here_have_no_remedy() -> None:
    assert not {*ELEMENTS, *ARRAYS} & LEARNING.keys()
    assert [name for name in {*ELEMENTS, *ARRAYS, *LEARNING} if name in {*vy.__all__, *vyre_algorithms.__all__}] == []
    assert [name for name in FUNCTIONS.values() if not callable(getattr(vy, name))] == []
    assert {"where": "select", "maximum": "max", "isnan": "is_nan"}.items() <= FUNCTIONS.items()


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("where", r"write vyre\.select\(mask\[i\], x\[i\], y\[i\]\) in a kernel, where i = vyre\.index\(\)"),
        ("cummax", r"write vyre\.scan\(x, 'max'\)"),
        ("concatenate", r"call numpy\.concatenate on the host: functions of vyre take what it gives"),
        ("solve", r"call numpy\.linalg\.solve on the host"),
        ("rfftfreq", r"call numpy\.fft\.rfftfreq on the host"),
        ("pi", r"use numpy\.pi"),
        ("float32", r"use vyre\.f32"),
        ("bool", r"use vyre\.bool_"),
        ("softmax", r"call vyre\.max and vyre\.sum with axis=-1 for the rows"),
        ("topk", r"use vyre(_algorithms)?\.top_k if that is what it does, or choose one of the names in dir"),
        ("trapp", r"use vyre\.trap if that is what it does, or|choose one of the names in dir\(vyre_algorithms"),
        ("UnsupportedFeature", "import it: from vyre_driver import UnsupportedFeature$"),
        ("complex64", r"pass its parts, z\.real and z\.imag"),
        ("datetime64", "pass its counts of units"),
        ("format", r"choose one of the names in dir\(vyre(_algorithms)?\)"),
        ("zzzzz", r"choose one of the names in dir\(vyre(_algorithms)?\)"),
    ],
)
@pytest.mark.parametrize("module", [vy, vyre_algorithms])
def test_a_missing_name_has_a_remedy(module: ModuleType, name: str, fix: str) -> None:
    with pytest.raises(AttributeError, match=rf"^module '{module.__name__}' has no attribute '{name}'\. Fix: {fix}"):
        getattr(module, name)


@pytest.mark.parametrize("home", [np, np.linalg, np.fft], ids=lambda home: home.__name__)
@pytest.mark.parametrize("module", [vy, vyre_algorithms])
def test_it_can_be_asked_for_each_name_of_numpy(module: ModuleType, home: ModuleType) -> None:
    """For abstract types, too: `hasattr` raises all errors but one."""
    names = [name for name in home.__all__ if not name.startswith("_")]
    assert [name for name in names if not (hasattr(module, name) or remedy_of(module, name))] == []


def remedy_of(module: ModuleType, name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    return str(caught.value).partition("Fix: ")[2]


def test_functions_of_values_are_for_kernels() -> None:
    with pytest.raises(AttributeError, match=r"Fix: write vyre\.exp\(…\) in a kernel$"):
        vyre_algorithms.exp  # noqa: B018


@pytest.mark.parametrize("module", [vy, vyre_algorithms])
def test_names_that_python_asks_for_have_none(module: ModuleType) -> None:
    with pytest.raises(AttributeError, match=r"has no attribute '__wrapped__'$"):
        module.__wrapped__  # noqa: B018
    assert not hasattr(module, "_repr_html_")


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("vy.where(x[i] > 0, x[i], y[i])", "write vy.select"),
        ("np.where(x[i] > 0, x[i], y[i])", "write vy.select"),
        ("np.subtract(x[i], y[i])", "write x - y"),
        ("vy.subtract(x[i], y[i])", "write x[i] - y[i] in a kernel, where i = vy.index()"),
        ("vy.sine(x[i])", "use vy.sin if that is what it does, or choose one of the names in dir(vyre)"),
        ("np.sine(x[i])", "correct the expression"),
    ],
)
def test_functions_of_numpy_in_kernels(tmp_path: Path, written: str, fix: str) -> None:
    kernel = module_of(tmp_path, kernel_of("named", written, "f32")[0]).named
    with pytest.raises(vy.KernelError) as error:
        kernel.program  # noqa: B018
    assert error.value.fix == fix


@pytest.mark.parametrize("function", ["max", "min"])
def test_the_extreme_of_an_array_and_another_operand_is_for_kernels(function: str) -> None:
    for other, shown in ((0.5, "0.5"), (GIVEN["y"], r"y\[i\]"), (vy.zeros(7, vy.f32, backend="reference"), r"y\[i\]")):
        with pytest.raises(vy.VyreError, match=rf"expected an axis.*Fix: write vyre\.{function}\(x\[i\], {shown}\)"):
            getattr(vy, function)(GIVEN["x"], other)
    assert getattr(vy, function)(GIVEN["m"], np.array(1)).shape == (3,)
