"""Arrays of a device: what they hold, what copies bytes, and how kernels and programs take them."""

import copy
import gc
import importlib
import math
import pickle
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vyre as vy
from vyre_driver import EngineBackend, acquire
from vyre_driver.arrays import make, memory
from vyre_driver.backend.dlpack import from_dlpack
from vyre_driver.errors import BackendError, DeviceOutOfMemory, InvalidInput, StaleHandle, UnsupportedFeature
from vyre_driver.testing.fake_port import FakePort
from vyre_foundation.errors import BuildError

try:
    import pyarrow as pa
except ImportError:
    pa = None

BACKENDS = ("cpu", "opencl", "reference")
HAS_COPIES = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""Whether `numpy.from_dlpack` takes `copy`."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[vy.VyreBackend]:
    try:
        yield vy.backend_for(request.param)
    except BackendError as error:
        pytest.skip(str(error))


@vy.kernel
def saxpy(a: vy.f32, x: vy.Array[vy.f32, "n"], y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    return a * x[i] + y[i]


@vy.kernel
def add(x: vy.Array[vy.u32, "h", "w"], y: vy.Array[vy.u32, "h", "w"]) -> vy.Array[vy.u32, "h", "w"]:
    i, j = vy.index()
    return x[i, j] + y[i, j]


@vy.kernel(shape="n")
def count(x: vy.Array[vy.u8, "n"], counts: vy.InOut[vy.u32, 256]) -> None:
    counts.atomic_add(x[vy.index()], 1)


def moved(backend: vy.VyreBackend) -> tuple[int, int]:
    """Uploads and downloads so far. A launch over memory that it has not seen uploads its parameters once."""
    counts = backend.backend_metric_snapshot()
    return counts.get("copies_in", 0), counts.get("copies_out", 0)


PARAMETERS = 64
"""More bytes than the parameters of a launch here are."""


@pytest.mark.parametrize("name", ["bool_", "bf16", "f16", "f32", "f64", "i8", "i64", "u8", "u16", "u32", "u64"])
def test_every_type_comes_back_as_it_was(backend: vy.VyreBackend, name: str) -> None:
    dtype = getattr(vy, name)
    host = np.arange(12).reshape(3, 4).astype(dtype.numpy)
    array = vy.array(host, backend=backend)
    assert (array.dtype, array.shape, array.ndim, array.size, len(array)) == (dtype, (3, 4), 2, 12, 3)
    assert (array.nbytes, array.strides, array.device) == (host.nbytes, host.strides, backend.id())
    assert array.numpy().tobytes() == host.tobytes()
    assert array.T.copy().numpy().tobytes() == host.T.tobytes()


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1],
        np.s_[-1, 2],
        np.s_[1:],
        np.s_[:, 1],
        np.s_[::2, ::-1],
        np.s_[..., 3],
        np.s_[2:0:-1, 1:3],
        np.s_[3:, :],
        np.s_[None],
        np.s_[:, None],
        np.s_[None, 1, ..., None, 1:3],
        np.s_[..., None],
        np.s_[1, 2, None],
    ],
)
def test_views_are_those_of_numpy(backend: vy.VyreBackend, index: Any) -> None:
    host = np.arange(12, dtype=np.uint16).reshape(3, 4)
    array = vy.array(host, backend=backend)
    view, expected = array[index], host[index]
    assert view.shape == expected.shape
    assert np.array_equal(view.numpy(), expected)
    assert np.array_equal(view.copy().numpy(), expected)
    assert np.array_equal(view.reshape(-1).numpy(), expected.reshape(-1))
    array[index] = 77
    host[index] = 77
    assert np.array_equal(array.numpy(), host), "a view has the same memory"


def test_random_views_of_views_are_those_of_numpy() -> None:
    random = np.random.default_rng(21)
    for _ in range(200):
        host = np.arange(int(np.prod(shape := random.integers(1, 6, 3))), dtype=np.uint32).reshape(shape)
        array = vy.array(host, backend="cpu")
        expected = host
        for _ in range(3):
            bounds = random.integers(-7, 8, (expected.ndim, 2)).tolist()
            steps = random.choice([-3, -2, -1, 1, 2, 3], expected.ndim).tolist()
            index = tuple(slice(low, high, step) for (low, high), step in zip(bounds, steps, strict=True))
            array, expected = array[index], expected[index]
            if random.integers(2):
                array, expected = array.T, expected.T
        assert array.shape == expected.shape
        assert np.array_equal(array.copy().numpy(), expected)
        assert np.array_equal(array.numpy(), expected)


VIEWS = [
    pytest.param((5, 70, 9, 3), lambda a: a[:, 1:69, 2:8], id="adjacent"),
    pytest.param((37, 90), lambda a: a.T, id="pieces"),
    pytest.param((3, 70, 19), lambda a: a.transpose(0, 2, 1)[::-1, 2:, ::3], id="pieces"),
    pytest.param((20, 3, 50), lambda a: a.transpose(2, 1, 0), id="pieces"),
    pytest.param((130, 3), lambda a: a[::-2].T, id="rows_apart_adjacent"),
    pytest.param((3, 130), lambda a: a[:, 7:].T, id="rows_adjacent_apart"),
    pytest.param((4, 33, 40), lambda a: a.transpose(1, 0, 2)[3:, 1:], id="rows_adjacent_adjacent"),
    pytest.param((5, 6, 7, 8), lambda a: a.T[::-1, 1:, ::3], id="elements"),
    pytest.param((1, 1), lambda a: a[:, ::-1], id="elements"),
]
"""Views of contiguous arrays of a shape; their names are those of the programs that move the elements."""


@pytest.mark.parametrize(("shape", "view"), VIEWS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32], ids=str)
def test_views_are_moved_in_every_way(
    backend: vy.VyreBackend, shape: tuple[int, ...], view: Callable[[Any], Any], dtype: Any
) -> None:
    random = np.random.default_rng(8)
    host = random.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(np.dtype(dtype)).reshape(shape)
    array = vy.array(host, backend=backend)
    seen = view(array)
    assert seen.copy().numpy().tobytes() == np.ascontiguousarray(view(host)).tobytes()
    other = vy.zeros(seen.shape, seen.dtype, backend=backend)
    other[...] = seen
    assert other.numpy().tobytes() == seen.numpy().tobytes()
    seen[...] = other[::-1]
    expected = view(host)
    expected[...] = expected[::-1].copy()
    assert array.numpy().tobytes() == host.tobytes()


def test_a_part_is_replaced_by_an_array(backend: vy.VyreBackend) -> None:
    host = np.arange(12, dtype=np.int32).reshape(3, 4)
    array = vy.array(host, backend=backend)
    array[0] = array[2]
    host[0] = host[2]
    array[:, 1] = np.int32([-1, -2, -3])
    host[:, 1] = [-1, -2, -3]
    array[::2] = array[::-2]
    host[::2] = host[::-2].copy()
    assert np.array_equal(array.numpy(), host)
    with pytest.raises(InvalidInput, match=r"array of int32 of the shape \(4,\).*Fix: convert it with"):
        array[0] = np.zeros(4, np.float32)
    with pytest.raises(BuildError, match="does not fit i32"):
        array[0] = 2**40


def test_a_part_is_replaced_by_a_row_that_is_repeated(backend: vy.VyreBackend) -> None:
    host = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    array, row = vy.array(host, backend=backend), np.int32([9, 8, 7, 6])
    for index, value in [(np.s_[:], row), (np.s_[0, ::2], row[None]), (np.s_[1, :, 1::2], np.int32([[1], [2], [3]]))]:
        for given in (value, vy.array(value + 1, backend=backend)):
            array[index] = given
            host[index] = np.asarray(given)
            assert array.numpy().tolist() == host.tolist()


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("mean", r"use \.numpy\(\)\.mean, or vyre\.mean\(a\)"),
        ("ravel", r"use \.numpy\(\)\.ravel, or a\.reshape\(-1\)"),
        ("fill", r"use a\[\.\.\.\] = value"),
        ("sort", r"use a\[\.\.\.\] = vyre\.sort\(a\)"),
        ("trace", r"use \.numpy\(\)\.trace, or a function such as vyre\.sum"),
    ],
)
def test_a_method_of_numpy_s_arrays_that_is_missing_has_a_remedy(name: str, fix: str) -> None:
    with pytest.raises(AttributeError, match=rf"'DeviceArray' object has no attribute '{name}'\. Fix: {fix}$"):
        getattr(vy.zeros(4, vy.f32, backend="reference"), name)


def test_a_remedy_names_functions_of_the_front_door() -> None:
    array = vy.zeros(4, vy.f32, backend="reference")
    for name in set(dir(np.ndarray)) - set(dir(array)):
        if not name.startswith("_"):
            with pytest.raises(AttributeError) as error:
                getattr(array, name)
            is_named = f"or vyre.{name}(a)" in str(error.value)
            assert is_named == (name in vy.__all__ and name not in ("partition", "round", "sort", "transpose")), name


def test_what_numpy_s_arrays_have_too(backend: vy.VyreBackend) -> None:
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    array = vy.array(host, backend=backend)
    assert array.tolist() == host.tolist()
    for axes in [(-1, 0, 1), (1, -3, 2), ((2, 0, 1),), ([-1, 1, 0],), ()]:
        assert np.array_equal(array.transpose(*axes).numpy(), host.transpose(*axes))
    assert f"{array[1, 2, 3]:.2f} {array[0]}" == f"23.00 <f32 array of shape (3, 4) on {backend.id()!r}>"
    assert vy.array(np.array([(1, 2.5)], "i4, f4"), backend=backend).tolist() == [(1, 2.5)]


@pytest.mark.parametrize("name", ["cpu", "opencl"])
def test_a_chain_of_kernels_moves_no_bytes(name: str) -> None:
    try:
        backend = vy.backend_for(name)
        backend.prepare()
    except BackendError as error:
        pytest.skip(str(error))
    before = moved(backend)
    x, y = (vy.array(np.full((50, 60), 2**31 - 7, np.uint32), backend=backend) for _ in range(2))
    assert moved(backend) == (before[0] + 2, before[1])
    uploaded = backend.backend_metric_snapshot()["bytes_in"]
    z = add(add(x, y), y)
    assert isinstance(z, vy.DeviceArray)
    # Each of the two launches uploads its parameters, and the lengths of the axes, where the device shares no memory.
    small = moved(backend)[0] - before[0] - 2
    assert small <= 4
    assert moved(backend)[1] == before[1]
    assert backend.backend_metric_snapshot()["bytes_in"] - uploaded <= small * PARAMETERS
    assert (z.numpy() == 3 * (2**31 - 7) % 2**32).all()
    assert moved(backend) == (before[0] + 2 + small, before[1] + 1)


def test_programs_take_arrays_where_they_are() -> None:
    with vy.program("double", workgroup_size=64) as p:
        x = p.read("x", vy.u32)
        out = p.write("out", vy.u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 2
    backend = vy.backend_for("cpu")
    x = vy.array(np.arange(6, dtype=np.uint32).reshape(2, 3), backend=backend)
    before = moved(backend)
    out = vy.run(p.build(), x=vy.run(p.build(), x=x)["out"])["out"]
    assert moved(backend) == (before[0] + 2, before[1])
    assert out.shape == (2, 3)
    assert out.numpy().tolist() == [[0, 4, 8], [12, 16, 20]]
    with pytest.raises(InvalidInput, match=r"one of f32, expected an array of u32. Fix: convert"):
        vy.run(p.build(), x=vy.zeros(4, vy.f32, backend=backend))


def test_arrays_of_the_host_are_uploaded_beside_those_of_the_device(backend: vy.VyreBackend) -> None:
    x = np.arange(1000, dtype=np.float32)
    z = saxpy(0.5, vy.array(x, backend=backend), x)
    assert isinstance(z, vy.DeviceArray)
    assert z.device == backend.id()
    assert np.array_equal(z.numpy(), np.float32(0.5) * x + x)
    assert isinstance(saxpy(0.5, x, x), np.ndarray)


def test_views_are_inputs(backend: vy.VyreBackend) -> None:
    host = np.arange(24, dtype=np.uint32).reshape(4, 6)
    array = vy.array(host, backend=backend)
    z = add(array[:2, ::-1], array[2:])
    assert np.array_equal(z.numpy(), host[:2, ::-1] + host[2:])


@vy.kernel
def halves(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
    i = vy.index()
    out[i] = x[i] * 0.5


def test_results_go_to_targets(backend: vy.VyreBackend) -> None:
    host = np.arange(10, dtype=np.float32)
    x, target = vy.array(host, backend=backend), vy.zeros(10, vy.f32, backend=backend)
    assert halves(x, out=target) is target
    assert np.array_equal(target.numpy(), host / 2)
    assert halves(host, out=target[::-1]) is not target
    assert np.array_equal(target.numpy(), host[::-1] / 2)
    received = np.zeros(10, np.float32)
    assert halves(x, out=received) is received
    assert np.array_equal(received, host / 2)
    with pytest.raises(InvalidInput, match=r"out.*Fix: "):
        halves(x, out=vy.zeros(9, vy.f32, backend=backend))


@vy.kernel
def neighbours(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"], back: vy.Out[vy.f32, "n"]) -> None:
    i = vy.index()
    out[i] = x[i + 1]
    back[i] = x[i - 1]


@vy.kernel
def positive(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
    i = vy.index()
    assert x[i] > 0.0, "a number is not positive"
    out[i] = x[i]


@pytest.fixture
def used(backend: vy.VyreBackend, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """The resources of each dispatch over resident memory."""
    found: list[tuple[object, ...]] = []
    right = backend.dispatch_resident

    def dispatch(program: vy.Program, resources: list, config: vy.DispatchConfig) -> None:
        found.append(tuple(resources))
        right(program, resources, config)

    monkeypatch.setattr(backend, "dispatch_resident", dispatch)
    return found


def test_a_target_is_the_memory_of_the_launch(backend: vy.VyreBackend, used: list) -> None:
    """Two arrays that take turns are all that an animation needs."""
    front, back = (vy.array(np.arange(10, dtype=np.float32), backend=backend) for _ in range(2))
    for _ in range(4):
        assert halves(front, out=back) is back
        front, back = back, front
    assert len(used) == 4
    assert all(back.resource in resources and front.resource in resources for resources in used)
    assert front.numpy().tolist() == [n / 16 for n in range(10)]


def test_a_target_that_something_else_uses_receives_a_copy(backend: vy.VyreBackend) -> None:
    host = np.arange(1, 9, dtype=np.float32)
    ahead, behind = [*range(2, 9), 0], [0, *range(1, 8)]

    x, other = vy.array(host, backend=backend), vy.zeros(8, vy.f32, backend=backend)
    assert neighbours(x, out=x, back=other)[0] is x
    assert (x.numpy().tolist(), other.numpy().tolist()) == (ahead, behind)
    x = vy.array(host, backend=backend)
    half = vy.zeros(16, vy.f32, backend=backend)[8:]
    neighbours(x, out=half, back=other)
    assert half.numpy().tolist() == ahead
    shared = host.copy()  # two arrays over it have a resource each
    neighbours(vy.asarray(shared, backend=backend), out=vy.asarray(shared, backend=backend), back=other)
    assert other.numpy().tolist() == behind
    exported = vy.array(host, backend=backend)
    again = vy.asarray(np.from_dlpack(exported), backend=backend)
    neighbours(again, out=exported, back=other)
    assert (exported.numpy().tolist(), other.numpy().tolist()) == (ahead, behind)


def test_results_that_would_overlap_are_refused(backend: vy.VyreBackend) -> None:
    x, whole = vy.array(np.arange(1, 9, dtype=np.float32), backend=backend), vy.zeros(16, vy.f32, backend=backend)
    for out, back in ((whole[:8], whole[:8]), (whole[:8], whole[4:12]), (whole[::2], whole[8:]), (x, x)):
        with pytest.raises(InvalidInput, match="'back': got memory of both, expected memory apart from that for 'out'"):
            neighbours(x, out=out, back=back)
    neighbours(x, out=whole[::2], back=whole[1::2])
    assert whole.numpy().reshape(8, 2).T.tolist() == [[*range(2, 9), 0], [0, *range(1, 8)]]


def test_results_in_memory_that_is_shared_with_the_host_are_refused(backend: vy.VyreBackend) -> None:
    host = np.zeros(8, np.float32)
    x, shared = np.arange(8, dtype=np.float32), vy.asarray(host, backend=backend)
    shared[0] = 5
    if host[0] != 5:
        pytest.skip("the backend does not use memory of the host")
    for out, back in ((host, shared), (shared, vy.asarray(host, backend=backend))):
        with pytest.raises(InvalidInput, match="'back': got memory of both"):
            neighbours(x, out=out, back=back)


def test_a_view_that_repeats_elements_receives_nothing(backend: vy.VyreBackend) -> None:
    x = np.arange(8, dtype=np.float32)
    repeated = vy.zeros(1, vy.f32, backend=backend).broadcast_to((8,))
    with pytest.raises(InvalidInput, match="'out': got one that repeats elements"):
        neighbours(x, out=repeated)
    with pytest.raises(InvalidInput, match="'out': got one that repeats elements"):
        vy.sort(x, out=repeated)
    with pytest.raises(InvalidInput, match="got one that repeats elements"):
        repeated[...] = x
    assert not repeated.numpy().any()


def test_a_trap_leaves_a_target_as_it_was(backend: vy.VyreBackend) -> None:
    target = vy.array(np.full(4, 7, np.float32), backend=backend)
    with pytest.raises(vy.Trapped, match="a number is not positive"):
        positive(vy.array(np.float32([1, 2, -1, 3]), backend=backend), out=target)
    assert target.numpy().tolist() == [7] * 4
    with pytest.raises(InvalidInput, match=r"'out': got .* expected an array of float32"):
        positive(vy.array(np.float32([1, 2, -1]), backend=backend), out=target)


def test_an_array_that_is_changed_is_copied(backend: vy.VyreBackend) -> None:
    data, zeros = vy.array(np.uint8([1, 1, 7]), backend=backend), vy.zeros(256, vy.u32, backend=backend)
    counts = count(data, zeros)
    assert counts.numpy()[[1, 7]].tolist() == [2, 1]
    assert not zeros.numpy().any()
    h = vy.array(np.uint32([[1, 2]]), backend=backend)
    assert isinstance(add(h, h), vy.DeviceArray)


def test_arrays_of_another_backend_are_refused() -> None:
    x, y = vy.zeros((1, 1), vy.u32, backend="cpu"), vy.zeros((1, 1), vy.u32, backend="reference")
    with pytest.raises(InvalidInput, match=r"y.*one of 'reference'.*memory of 'cpu'.*Fix: copy it through the host"):
        add(x, y)
    with pytest.raises(InvalidInput, match=r"one of 'cpu'.*memory of 'reference'"):
        add.on("reference")(x, x)
    with pytest.raises(InvalidInput, match=r"memory of 'reference'"):
        vy.array(x, backend="reference")


def test_memory_of_the_host_is_used_in_place() -> None:
    backend = vy.backend_for("cpu")
    host = np.zeros(64, np.uint32)
    before = moved(backend)
    array = vy.asarray(host, backend=backend)
    host[3] = 5
    assert moved(backend) == before
    assert array[3].item() == 5
    array[4] = 6
    assert host[4] == 6
    assert vy.asarray(array) is array
    read_only = np.arange(4, dtype=np.uint32)
    read_only.flags.writeable = False
    assert vy.asarray(read_only, backend=backend).numpy().tolist() == [0, 1, 2, 3]


def test_arrays_of_other_libraries_come_in(backend: vy.VyreBackend) -> None:
    assert vy.array(memoryview(np.float32([1, 2])), backend=backend).numpy().tolist() == [1, 2]
    assert vy.array([1, 2.5], vy.f16, backend=backend).numpy().tolist() == [1, 2.5]
    assert vy.array([1, 2.5], "float16", backend=backend).astype("float32").numpy().tolist() == [1, 2.5]
    seven = vy.array(7, vy.u8, backend=backend)
    seven[()] = np.array(7)
    assert (seven.item(), float(seven), int(seven)) == (7, 7.0, 7)
    assert type(float(seven)) is float


EXPORTS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda array: array.numpy(copy=False),
    "asarray": lambda array: np.asarray(array, copy=False),
    "array interface": lambda array: np.asarray(SimpleNamespace(__array_interface__=array.__array_interface__)),
    "dlpack": np.from_dlpack,
    "buffer": lambda array: np.asarray(memoryview(array)),
    "arrow": lambda array: pa.array(array).to_numpy(zero_copy_only=True),
}
_NEEDS = {"buffer": sys.version_info >= (3, 12), "arrow": pa is not None}


@pytest.mark.parametrize(
    "export",
    [
        pytest.param(export, id=name, marks=pytest.mark.skipif(not _NEEDS.get(name, True), reason="not installed"))
        for name, export in EXPORTS.items()
    ],
)
def test_the_memory_goes_out_without_a_copy(backend: vy.VyreBackend, export: Callable[[Any], Any]) -> None:
    array = vy.array(np.arange(6, dtype=np.float32), backend=backend)
    address = array.numpy(copy=False).ctypes.data
    before = moved(backend)
    out, part = export(array), export(array[2:5])
    assert moved(backend) == before, "nothing is copied"
    assert (out.dtype, out.tolist(), part.tolist()) == (np.float32, [0, 1, 2, 3, 4, 5], [2, 3, 4])
    assert (out.ctypes.data, part.ctypes.data) == (address, address + 8)
    array[3] = 30
    assert (out[3], part[1]) == (30, 30), "what the device writes is seen"


def test_exported_memory_outlives_its_array(backend: vy.VyreBackend) -> None:
    """A result gets no memory at which an exported array looks."""
    x = vy.array(np.ones(64, np.float32), backend=backend)
    made = saxpy(1.0, x, x)
    out = np.asarray(made)
    del made
    gc.collect()
    for _ in range(3):
        assert saxpy(2.0, x, x).numpy()[0] == 3
    assert out.tolist() == [2.0] * 64
    shown = np.asarray(x)
    x.close()
    gc.collect()
    assert shown.tolist() == [1.0] * 64
    with pytest.raises(StaleHandle, match="it was freed"):
        x.numpy(copy=False)


def test_views_of_several_axes_go_out_with_their_strides(backend: vy.VyreBackend) -> None:
    host = np.arange(24, dtype=np.int16).reshape(4, 6)
    array = vy.array(host, backend=backend)[1:, ::-2].T
    for out in (np.asarray(array, copy=False), np.from_dlpack(array)):
        assert np.array_equal(out, host[1:, ::-2].T)
    assert np.array_equal(np.array(array, np.float64), host[1:, ::-2].T)
    assert vy.zeros((0, 3), vy.u8, backend=backend).numpy(copy=False).shape == (0, 3)
    assert array.__dlpack_device__() == (1, 0)
    if HAS_COPIES:
        assert np.from_dlpack(array, copy=True).ctypes.data != np.from_dlpack(array).ctypes.data


@pytest.mark.parametrize("name", ["bool_", "bf16", "f16", "u64"])
def test_views_whose_elements_are_apart_are_copied(name: str, backend: vy.VyreBackend) -> None:
    host = (np.arange(24).reshape(4, 6) % 3).astype(getattr(vy, name).numpy)
    array = vy.array(host, backend=backend)
    for view, wanted in ((array[1:, ::-2].T, host[1:, ::-2].T), (array[::-1], host[::-1]), (array[:, :2], host[:, :2])):
        assert view.numpy().tobytes() == wanted.tobytes()
        assert view.tolist() == wanted.tolist()


def test_what_has_no_name_in_the_array_interface_is_copied_by_its_type(backend: vy.VyreBackend) -> None:
    array = vy.array([1, 2], vy.bf16, backend=backend)
    assert np.asarray(array).dtype == vy.bf16.numpy
    assert array.numpy(copy=False).tolist() == [1, 2]
    with pytest.raises(AttributeError, match=r"<bf16 array.*has no __array_interface__. Fix: copy it"):
        _ = array.__array_interface__
    with pytest.raises(AttributeError, match="__cuda_array_interface__"):
        _ = array.__cuda_array_interface__
    exporter = SimpleNamespace(__dlpack__=array.__dlpack__, __dlpack_device__=array.__dlpack_device__)
    assert from_dlpack(exporter).ctypes.data == array.numpy(copy=False).ctypes.data
    assert vy.sum(exporter, backend=backend) == vy.array(exporter, backend=backend).numpy().sum() == 3


def test_memory_that_is_not_the_host_s_is_copied() -> None:
    backend = EngineBackend("fake", lambda: FakePort(lambda plan, memory: None))
    array = make.array(backend, np.arange(3, dtype=np.uint8))
    before = moved(backend)
    assert np.asarray(array).tolist() == np.from_dlpack(array).tolist() == [0, 1, 2]
    assert moved(backend) == (before[0], before[1] + 2)
    assert array.__dlpack_device__() == (1, 0)
    with pytest.raises(ValueError, match=r"using the memory of an array on the host. Fix:"):
        np.asarray(array, copy=False)
    if HAS_COPIES:
        with pytest.raises(BufferError, match="Fix: "):
            np.from_dlpack(array, copy=False)
    with pytest.raises(AttributeError, match="Fix: "):
        _ = array.__array_interface__
    with pytest.raises(UnsupportedFeature, match="Fix: "):
        array.numpy(copy=False)


@pytest.mark.skipif(pa is None, reason="not installed")
def test_arrow_comes_in(backend: vy.VyreBackend) -> None:
    assert vy.array(pa.array([1, 2, 3], pa.int16())[1:], backend=backend).numpy().tolist() == [2, 3]
    assert vy.array(pa.array([True, False]), backend=backend).dtype is vy.bool_
    chunks = vy.array(pa.chunked_array([[1.5], [2.5, 3.5]]), backend=backend)
    assert (chunks.dtype, chunks.numpy().tolist()) == (vy.f64, [1.5, 2.5, 3.5])
    with pytest.raises(InvalidInput, match=r"got 1 nulls.*Fix: fill"):
        vy.array(pa.array([1, None]), backend=backend)
    with pytest.raises(InvalidInput, match=r"one axis.*Fix: export .reshape"):
        vy.zeros((2, 2), vy.u8, backend=backend).__arrow_c_array__()


@pytest.mark.skipif(pa is None, reason="not installed")
def test_kernels_and_programs_take_arrow(backend: vy.VyreBackend) -> None:
    @vy.kernel
    def sums(
        x: vy.Array[vy.f64, "n"], y: vy.Array[vy.f64, "n"], flags: vy.Array[vy.bool_, "n"]
    ) -> vy.Array[vy.f64, "n"]:
        i = vy.index()
        return x[i] + y[i] if flags[i] else x[i]

    x, y, flags = pa.array([9.0, 1, 2])[1:], pa.chunked_array([[1.5], [2.5]]), pa.array([True, False])
    assert sums.on(backend)(x, y, flags).tolist() == [2.5, 2]
    assert sums.on(backend)(x, flags=flags, y=y).tolist() == [2.5, 2]
    assert sums.on(backend)(vy.array(x, backend=backend), y, flags).numpy().tolist() == [2.5, 2]
    assert vy.run(sums, x=x, y=y, flags=flags, backend=backend)["out"].tolist() == [2.5, 2]
    for other, message in (
        (pa.array([1.0, None]), "argument 'y': got 1 nulls"),
        (pa.array([1, 2]), "argument 'y': got one of int64, expected an array of float64"),
        (pa.array([1.0]), "argument 'y': got 1 in the shape (1,), expected n = 2 elements"),
        (pa.array(["a", "b"]).dictionary_encode(), "Fix: pass the codes of its values"),
    ):
        with pytest.raises(InvalidInput) as error:
            sums.on(backend)(x, other, flags)
        assert message in str(error.value)


@pytest.mark.skipif(pa is None, reason="not installed")
def test_the_remedy_of_an_arrow_type_gives_numbers() -> None:
    texts = ["b", "a", "b"]
    # fmt: off
    cases = (
        (pa.array(texts),                                   [0, 1, 0]),
        (pa.array(texts, pa.large_string()),                [0, 1, 0]),
        (pa.array([b"b", b"a", b"b"]),                      [0, 1, 0]),
        (pa.array([b"\xff", b"a", b"\xff"]),                [0, 1, 0]),
        (pa.array(texts, pa.string_view()),                 [0, 1, 0]),
        (pa.chunked_array([texts[:1], texts[1:]]),          [0, 1, 0]),
        (pa.array(texts).dictionary_encode(),               [0, 1, 0]),
        (pa.chunked_array([pa.array(texts).dictionary_encode()]), [0, 1, 0]),
        (pa.table({"a": [1, 2], "b": [3.0, 4.0]}),          [1, 2]),
        (pa.array([{"a": 1}, {"a": 2}]),                    [1, 2]),
        (pa.array([[1, 2], [], [3]]),                       [1, 2, 3]),
        (pa.array([[1], [2]], pa.list_(pa.int32(), 1)),     [1, 2]),
        (pa.array([1, 2], pa.decimal128(5)),                [1, 2]),
        (pa.array([Decimal("0.1"), Decimal("-2.05")], pa.decimal128(38, 2)), [10, -205]),
        (pa.chunked_array([pa.array([1, 2], pa.decimal256(40, 1))]), [10, 20]),
        (pa.array([1, 2], pa.decimal256(50, 20)),           [1, 2]),
        (pa.RunEndEncodedArray.from_arrays([2, 3], [1, 2]), [1, 1, 2]),
        (pa.array([1, 2], pa.time32("s")),                  [1, 2]),
        (pa.array([1, 2], pa.time64("ns")),                 [1, 2]),
        (pa.array([1, 2], pa.date32()),                     [1, 2]),
        (pa.array([1, 2], pa.timestamp("us", "UTC")),       [1, 2]),
        (pa.array([1, 2], pa.duration("s")),                [1, 2]),
    )
    # fmt: on
    for given, numbers in cases:
        with pytest.raises(vy.VyreError) as caught:
            vy.array(given)
        for module in re.findall(r"^import ([\w.]+)", caught.value.fix):
            importlib.import_module(module)
        remedy = re.split(": |, as in ", caught.value.fix)[-1]
        names = {"value": given, "time": given, "pyarrow": pa, "numpy": np}
        assert vy.array(eval(remedy, names)).tolist() == numbers, remedy


class Unreadable:
    dtype = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError("sparse")


@pytest.mark.skipif(pa is None, reason="not installed")
def test_an_exporter_of_arrow_may_fail() -> None:
    with pytest.raises(InvalidInput, match=r"got a Unreadable that Arrow cannot read \(sparse\).*Fix: pass one of"):
        vy.sum(Unreadable())  # type: ignore[arg-type]


def test_arrow_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedFeature, match=r"Arrow without pyarrow. Fix: install it"):
        vy.zeros(2, vy.u8, backend="reference").__arrow_c_array__()


@pytest.mark.parametrize(
    ("given", "dtype", "match"),
    [
        ([1, 2], None, "carries a type.*Fix: pass dtype="),
        (np.ma.masked_array(np.zeros(2)), None, "mask.*Fix: pass .filled"),
        (object(), None, "Fix: pass dtype="),
        ([300], vy.u8, r"the value 300 of 'array' does not fit u8\. Fix: use values in 0 … 255, or another type"),
        (
            [1, 2.5],
            vy.i32,
            r"the value 2\.5 of 'array' does not fit i32\. Fix: round the values first, or use a type of",
        ),
        (
            [[1.0, 2.0], [1e9, 0.5]],
            vy.f16,
            r"the value 1000000000\.0 of 'array' does not fit f16\. Fix: use a wider type",
        ),
        (np.array([65519.0, 65520.0]), vy.f16, "the value 65520.0 of 'array' does not fit f16"),
        ([math.inf, 2**200], vy.f32, "the value 1606938.* of 'array' does not fit f32"),
        ([10**400], vy.f64, "the value 1000.* of 'array' does not fit f64"),
        ([1e39], vy.bf16, "the value 1e\\+39 of 'array' does not fit bf16"),
        (np.array(["a"]), None, r"got the type str32, expected a type\. Fix: pass the bytes of"),
        (np.array([1j]), None, r"got the type complex128, expected a type\. Fix: pass its parts"),
        (np.array([None]), None, r"got the type object, expected a type\. Fix: make numbers"),
        (
            np.zeros(3, ">f4"),
            None,
            r"got the type float32 in another byte order, .* Fix: use float32, to which \.astype",
        ),
    ],
)
def test_what_is_no_array_is_refused(given: object, dtype: Any, match: str) -> None:
    with pytest.raises((InvalidInput, BuildError), match=match):
        vy.array(given, dtype, backend="cpu")


def test_infinities_that_are_written_stay() -> None:
    for dtype in (vy.f16, vy.bf16, vy.f32, vy.f64):
        found = vy.array([[math.inf, -math.inf], [math.nan, 1.5]], dtype, backend="reference").numpy()
        assert found.astype(float).tolist()[0] == [math.inf, -math.inf]
        assert found.shape == (2, 2)


@vy.kernel
def scaled(x: vy.Array[vy.f32, "n"], by: vy.f32) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] * by


@vy.kernel
def beyond(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] * 1e39


def test_a_number_beyond_the_type_is_an_infinity_only_as_an_argument_and_in_text() -> None:
    one = np.ones(1, np.float32)
    with vy.program("p") as p:
        for recorded in (lambda: vy.f32(1e39), lambda: p.constant("t", vy.f32, [1e39]), lambda: beyond(one)):
            with pytest.raises(vy.VyreError, match=r"1e\+39 .*not .*f32"):
                recorded()
    assert scaled(one, 1e39).tolist() == [math.inf]
    assert "o[0] = inf;" in str(vy.parse("program p workgroup(1) { write o: f32[1] @0; o[0] = 1e39; }"))


def test_misuse_of_an_array_says_what_to_do() -> None:
    array = vy.zeros((2, 3), vy.u32, backend="cpu")
    for misuse, match in [
        (lambda: bool(array), "Fix: use .item"),
        (lambda: array == array.copy(), r"no comparisons\. Fix: compare .numpy\(\), or ask `is`"),
        (lambda: array != 0, "no comparisons"),
        (lambda: array < 3, "no comparisons"),
        (lambda: array + array, r"no arithmetic\. Fix: write a kernel"),
        (lambda: 2 * array, "no arithmetic"),
        (lambda: -array, "no arithmetic"),
        (lambda: array.sum(), r"no attribute 'sum'\. Fix: use \.numpy\(\)\.sum, or vyre\.sum\(a\)$"),
        (lambda: array.total, "no attribute 'total'$"),
        (lambda: array.item(), "6 elements.*Fix: index the element"),
        (lambda: array[2], "out of bounds for axis 0 of length 2. Fix: use an index from -2 to 1"),
        (lambda: array[np.ones(2, bool)], r"got ndarray as an index\. Fix: call vyre\.compact"),
        (lambda: array[np.array([0, 1])], r"got ndarray as an index\. Fix: call vyre\.gather"),
        (lambda: array[array[0]], r"got DeviceArray as an index\. Fix: call vyre\.gather"),
        (lambda: array.transpose(0), r"got \(0,\), expected the numbers of all 2 axes.*Fix: name each axis once"),
        (lambda: array.transpose(-1, 1), "expected the numbers of all 2 axes"),
        (lambda: array.transpose(0.5, 1), "got .0.5, 1., expected integers"),
        (lambda: array.reshape(2.0, 3), "got .2.0, 3., expected integers"),
        (lambda: f"{array:.2f}", "6 elements.*Fix: index the element"),
        (lambda: array.__setitem__(0, np.zeros(2, np.uint32)), r"got one of uint32, \(2,\).*Fix: reshape it"),
        (
            lambda: array.assign(np.zeros((2, 3), ">u4")),
            r"got one of uint32 in another byte order, .*Fix: convert it with \.astype\('uint32'\)",
        ),
        (lambda: array.__setitem__(0, np.ma.masked_array([1, 2, 3], [0, 0, 1])), "a masked array.*Fix: pass .filled"),
        (lambda: array[0, 0, 0], "Fix: pass one for each axis"),
        (lambda: array[0, ..., None, 0, 0], "3 indices for the shape .*Fix: pass one for each axis"),
        (lambda: array.__setitem__(np.ones(2, bool), 1), r"an array as an index.*Fix: call vyre\.scatter"),
        (lambda: array["x"], "Fix: use integers, slices"),
        (lambda: array.reshape(4), "a shape of 6 elements.*Fix"),
        (lambda: len(array[0, 0]), "Fix: use `.size`"),
        (lambda: pickle.dumps(array), r"Fix: pickle array.numpy\(\)"),
        (lambda: vy.zeros(-1, vy.u8, backend="cpu"), "Fix: pass integers of at least 0"),
        (lambda: array.assign([1]), "Fix: pass a NumPy array"),
    ]:
        with pytest.raises((TypeError, IndexError, AttributeError, InvalidInput), match=match):
            misuse()
    assert array in {array: 1}
    assert copy.deepcopy(array).numpy().shape == (2, 3)
    assert vy.empty((0, 4), vy.f32, backend="cpu").numpy().shape == (0, 4)


def test_arrays_of_two_backends_with_one_id_do_not_meet() -> None:
    array, other = vy.zeros(4, vy.u32, backend="cpu"), acquire("cpu")
    try:
        with pytest.raises(InvalidInput, match=r"another backend 'cpu', which is open too.*Fix: use one for both"):
            vy.sum(array, backend=other)
    finally:
        other.shutdown()


def test_memory_lives_as_long_as_a_view(backend: vy.VyreBackend) -> None:
    row = vy.array(np.uint32([[1, 2], [3, 4]]), backend=backend)[1]
    gc.collect()
    assert row.numpy().tolist() == [3, 4]
    with row:
        pass
    with pytest.raises(StaleHandle, match="freed"):
        row.numpy()
    row.close()


def test_the_error_of_a_full_device_names_the_arrays_there() -> None:
    held = vy.zeros((3, 1000), vy.f64, backend="cpu")
    with pytest.raises(DeviceOutOfMemory, match=r"Fix: close arrays .*f64\[3, 1000\] of 24000 bytes"):
        vy.zeros(2**60, vy.u8, backend="cpu")
    held.close()


def test_results_of_a_loop_use_the_memory_of_earlier_ones(backend: vy.VyreBackend) -> None:
    with vy.program("doubled", workgroup_size=64) as p:
        x = p.read("x", vy.f32)
        out = p.write("out", vy.f32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 2.0
    program, values = p.build(), vy.array(np.ones(1000, np.float32), backend=backend)
    for _ in range(4):
        values = vy.run(program, x=values)["out"]
    before = dict(backend.backend_metric_snapshot())
    for _ in range(20):
        values = vy.run(program, x=values)["out"]
    after = backend.backend_metric_snapshot()
    for what in ("bytes_in", "bytes_out", "allocations", "plans", "compiles"):
        assert after.get(what) == before.get(what), what
    assert (values.numpy() == 2.0**24).all()


@pytest.mark.parametrize(("most", "most_bytes"), [(16, 2**40), (2**40, 16 * 4 * 1000)])
def test_arrays_of_ever_new_sizes_leave_little_memory_behind(
    backend: vy.VyreBackend, monkeypatch: pytest.MonkeyPatch, most: int, most_bytes: int
) -> None:
    monkeypatch.setattr(memory, "MAX_NEW", most)
    monkeypatch.setattr(memory, "MAX_NEW_BYTES", most_bytes)
    held = vy.zeros(1000, vy.f32, backend=backend)
    resources: weakref.WeakSet[Any] = weakref.WeakSet()
    for size in range(1000, 1100):
        array = vy.array(np.ones(size, np.float32), backend=backend)
        resources.add(array._memory.resource)
        assert array.numpy().sum() == size
        del array
        assert len(resources) <= 17
    assert not held.numpy().any()


@vy.kernel
def odd_places(x: vy.Array[vy.f32, "m"], y: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "m", "n"]) -> None:
    i, j = vy.index()
    if (i + j) % 2 == 1:
        out[i, j] = x[i] * y[j]


@pytest.mark.parametrize("launch", [odd_places, lambda x, y: vy.run(odd_places, x=x, y=y)["out"]])
def test_results_that_have_the_shape_of_no_array_use_the_memory_of_earlier_ones(
    backend: vy.VyreBackend, launch: Callable[[Any, Any], vy.DeviceArray]
) -> None:
    x, y = np.arange(1, 30, dtype=np.float32), np.arange(1, 8, dtype=np.float32)
    given, other = vy.array(x, backend=backend), vy.array(y, backend=backend)
    expected = np.where(np.add.outer(range(x.size), range(y.size)) % 2, np.outer(x, y), 0)
    for _ in range(4):
        vy.zeros(expected.shape, vy.f32, backend=backend)[...] = 5
        assert np.array_equal(launch(given, other).numpy(), expected), "where nothing is stored it is 0"
    before = dict(backend.backend_metric_snapshot())
    for _ in range(20):
        launch(given, other)
    after = backend.backend_metric_snapshot()
    for what in ("bytes_in", "allocations", "plans", "compiles"):
        assert after.get(what) == before.get(what), what
    if backend.id() != "reference":
        assert after["dispatches"] - before["dispatches"] == 2 * 20, "one for zeros, none for a copy"


def test_zeros_are_zeros_in_memory_that_was_used_before(backend: vy.VyreBackend) -> None:
    for shape, dtype in [((33,), vy.u8), ((3, 5), vy.u16), ((77,), vy.f32), ((9,), vy.f64), ((0,), vy.u32)]:
        for _ in range(3):
            used = vy.zeros(shape, dtype, backend=backend)
            assert not used.numpy().any()
            used[...] = 7


def test_nothing_runs_for_an_array_that_a_caller_is_going_to_write() -> None:
    backend = vy.backend_for("cpu")
    before = backend.backend_metric_snapshot()["dispatches"]
    made = vy.empty((3, 5), vy.f64, backend=backend)
    assert backend.backend_metric_snapshot()["dispatches"] == before
    assert (made.shape, made.dtype) == ((3, 5), vy.f64)
    made[...] = 2.5
    assert made.tolist() == [[2.5] * 5] * 3


def test_memory_of_a_device_that_was_opened_again_is_not_used() -> None:
    backend = acquire("cpu")
    for _ in range(2):
        found = [vy.array(np.full(100, n, np.uint32), backend=backend) for n in range(3)]
        assert [int(array.numpy()[7]) for array in found] == [0, 1, 2]
        del found
        backend.try_recover()
    backend.shutdown()


def test_the_default_backend_is_that_of_its_name() -> None:
    default = vy.backend_for()
    assert vy.backend_for(default.id()) is default


def test_views_of_other_axes_shapes_and_types(backend: vy.VyreBackend) -> None:
    host = np.arange(24, dtype=np.uint32).reshape(2, 3, 4)
    array = vy.array(host, backend=backend)
    assert np.array_equal(array.transpose(1, 2, 0).numpy(), host.transpose(1, 2, 0))
    assert np.array_equal(array.transpose().copy().numpy(), host.T)
    assert np.array_equal(
        array[:, :1].broadcast_to((5, 2, 3, 4)).copy().numpy(), np.broadcast_to(host[:, :1], (5, 2, 3, 4))
    )
    assert np.array_equal(array.view(vy.f32).numpy(), host.view(np.float32))
    assert np.array_equal(array[1].view(np.uint64).numpy(), host[1].view(np.uint64))
    assert np.array_equal(array.view(np.uint8).copy().numpy(), host.view(np.uint8))
    for refused in (
        lambda: array.transpose(0, 0, 1),
        lambda: array.broadcast_to((3, 4)),
        lambda: array.broadcast_to((2, 3, 5)),
        lambda: array[0, 0].broadcast_to((-1, 4)),
        lambda: array[0, 0].broadcast_to((1.5, 4)),  # type: ignore[arg-type]
        lambda: array[0, 0].broadcast_to(4),  # type: ignore[arg-type]
        lambda: array.T.view(vy.u8),
        lambda: array[:, :, :1].copy().view(vy.u64),
    ):
        with pytest.raises(InvalidInput, match="Fix: "):
            refused()


def test_shapes_cannot_be_assigned(backend: vy.VyreBackend) -> None:
    array = vy.array(np.arange(6, dtype=np.float32), backend=backend)
    with pytest.raises(AttributeError, match="shape"):
        array.shape = (2, 3)  # type: ignore[misc]
    assert array.shape == (6,)
    assert array.reshape(2, 3).shape == (2, 3)


def test_shapes_beyond_any_memory_are_refused(backend: vy.VyreBackend) -> None:
    for function in (vy.zeros, vy.empty):
        with pytest.raises(DeviceOutOfMemory, match="Fix: "):
            function((2**40, 2**40), vy.f32, backend=backend)


def test_conversions(backend: vy.VyreBackend) -> None:
    array = vy.array(np.array([[1.5, -2.5], [300, np.nan]], np.float32), backend=backend)
    assert array.astype(vy.u8).numpy().tolist() == [[1, 0], [255, 0]]
    assert array.T.astype(np.float64).numpy().tolist()[0] == [1.5, 300]
    assert array.astype(vy.f32, copy=False) is array
    assert array.astype(vy.f32) is not array
    assert array[:0].astype(vy.i32).shape == (0, 2)


def test_graphs_use_arrays_in_place() -> None:
    with vy.program("step") as p:
        x = p.read_write("x", vy.u32)
        x[p.global_id(0)] = x[p.global_id(0)] * 3 + 1
    with vy.graph("steps") as g:
        cells = g.resident("cells", vy.u32, 1000)
        with g.repeat(5):
            g.dispatch(p.build(), x=cells)
    backend = vy.backend_for("cpu")
    host = np.arange(1000, dtype=np.uint32)
    with g.compile(backend) as steps:
        cells = vy.array(host, backend=backend)
        steps.run(cells=cells)
        before = moved(backend)
        steps.run(cells=cells)
        steps.launch(cells=cells).result()
        assert moved(backend) == before, "no bytes between host and device"
        for _ in range(15):
            host = host * 3 + 1
        assert np.array_equal(cells.numpy(), host)
        for wrong, said in (
            (vy.zeros(1000, vy.i32, backend=backend), "one of i32, expected an array of u32. Fix: convert it"),
            (vy.zeros(2000, vy.u32, backend=backend)[::2], "a view of a part.*Fix: pass a copy"),
            (vy.zeros(999, vy.u32, backend=backend), "3996 bytes"),
            (host, r"Fix: pass an array of this backend, or what its allocate_resident"),
        ):
            with pytest.raises(InvalidInput, match=said):
                steps.run(cells=wrong)
        with pytest.raises(StaleHandle, match="belongs to backend 'reference'"):
            steps.run(cells=vy.zeros(1000, vy.u32, backend="reference"))


def test_what_takes_memory_of_the_host_does_not_download_an_array() -> None:
    with vy.program("double") as p:
        x = p.read("x", vy.u32)
        out = p.write("out", vy.u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 2
    program, backend = p.build(), vy.backend_for("cpu")
    x = vy.array(np.arange(4, dtype=np.uint32), backend=backend)
    before = moved(backend)
    with pytest.raises(InvalidInput, match=r"got an array of a device, .* host\. Fix: pass it to vyre"):
        backend.dispatch_arrays(program, {"x": x})
    with vy.graph("double") as g:
        g.output("out", g.dispatch(program, x=g.input("x", vy.u32, 4))["out"])
    with g.compile(backend) as run, pytest.raises(InvalidInput, match="`resident` of a graph"):
        run.run(x=x)
    assert moved(backend) == before
    assert vy.check(program, x=x)["out"].tolist() == [0, 2, 4, 6]
    assert dict(vy.explain(program, x=x, backend=backend).to_json())
    assert backend.dispatch_arrays(program, {"x": x.numpy()})["out"].tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("target", [np.s_[:], np.s_[3:], np.s_[::2], np.s_[5:25], np.s_[::-1]])
@pytest.mark.parametrize("source", [np.s_[:], np.s_[1:], np.s_[::-1], np.s_[::3]])
@pytest.mark.parametrize("dtype", ["u1", "f4", "i8"])
def test_a_view_takes_the_elements_of_another(dtype, source, target):
    there, here = np.arange(100, 190).astype(dtype), np.arange(30).astype(dtype)
    wanted, count = here.copy(), len(here[target])
    wanted[target] = there[source][:count]
    for given in (vy.array(there), there):
        mine = vy.array(here)
        mine[target].assign(given[source][:count])
        assert mine.numpy().tobytes() == wanted.tobytes()


def test_a_view_takes_elements_of_its_own_memory():
    array = vy.array(np.arange(30))
    array[:20].assign(array[10:])
    assert array.numpy().tolist() == [*range(10, 30), *range(20, 30)]


class Column:
    """What a library of tables exports: elements, some of which may be missing."""

    def __init__(self, values: Any, nulls: int) -> None:
        self.values, self.nulls = values, nulls
        self.shape, self.dtype = values.shape, "Float32"

    def null_count(self) -> int:
        return self.nulls

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def astype(self, dtype: Any) -> Any:
        return self.values.astype(dtype)


class Nullable(Column):
    """The same, which says where its elements are missing."""

    null_count = None  # type: ignore[assignment]

    def isna(self) -> Any:
        return np.arange(len(self.values)) < self.nulls


@vy.kernel
def doubled(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] * 2


USES: list[Callable[[Any], Any]] = [
    lambda x: doubled.on("reference")(x),
    lambda x: vy.run(doubled, x=x, backend="reference")["out"],
    lambda x: vy.sum(x, backend="reference"),
    lambda x: vy.array(x, backend="reference").numpy(),
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("column", [Column, Nullable])
def test_a_column_with_missing_elements_is_refused_everywhere(column: type[Column], use: Callable[[Any], Any]) -> None:
    values = np.array([1, 2, 3], np.float32)
    assert np.asarray(use(column(values, 0))).tolist() in (6, [1, 2, 3], [2, 4, 6])
    with pytest.raises(InvalidInput, match=r"got 2 nulls, expected an array without nulls.*Fix: fill them first"):
        use(column(values, 2))


def test_a_graph_refuses_two_arrays_over_one_memory_of_the_host(backend: vy.VyreBackend) -> None:
    with vy.graph("g") as g:
        given, out, back = (g.resident(name, vy.f32, 8) for name in ("x", "out", "back"))
        neighbours(given, out=out, back=back)
    compiled, host = g.compile(backend), np.zeros(8, np.float32)
    x, one, other = vy.zeros(8, vy.f32, backend=backend), *(vy.asarray(host, backend=backend) for _ in range(2))
    one[0] = 5
    if host[0] != 5:
        pytest.skip("the backend does not use memory of the host")
    with pytest.raises(InvalidInput, match="'back': got the memory of 'out', expected memory apart from 'out'"):
        compiled.run(x=x, out=one, back=other)
    with pytest.raises(InvalidInput, match="'back': got the memory of 'out', expected a resource of its own"):
        backend.dispatch_resident(neighbours.program, [x.resource, one.resource, other.resource])
    compiled.run(x=one, out=x, back=vy.zeros(8, vy.f32, backend=backend))


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older NumPy does not ask arrays of others")
@pytest.mark.parametrize("dtype", [vy.f32, vy.bool_, vy.u8, vy.bf16])
def test_numpy_finds_the_type_of_an_array(dtype: vy.DType) -> None:
    array = vy.zeros(3, dtype)
    assert np.result_type(array) == np.dtype(array) == dtype.numpy


@pytest.mark.parametrize("name", ["get", "copy_to_host", "cpu"])
def test_what_other_libraries_call_a_copy_on_the_host_is_named(name: str) -> None:
    with pytest.raises(
        AttributeError, match=rf"no attribute '{name}'\. Fix: use \.numpy\(\), which copies to the host$"
    ):
        getattr(vy.zeros(3, vy.f32), name)
