"""Arrays of structures and vectors: their layout, kernels over them, and arrays of a device."""

import copy
import ctypes
import gc
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import vyre as vy
from vyre_driver.arrays.structs import layout_of
from vyre_driver.errors import BackendError, InvalidInput, StaleHandle
from vyre_foundation.errors import BuildError

BACKENDS = ("cpu", "opencl", "reference")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[vy.VyreBackend]:
    try:
        yield vy.backend_for(request.param)
    except BackendError as error:
        pytest.skip(str(error))


@vy.struct
class Particle(vy.Struct):
    place: vy.Vec3[vy.f32]
    speed: vy.Vec3[vy.f32]
    mass: vy.f32

    def energy(self) -> vy.f32:
        return vy.f32(0.5) * self.mass * vy.dot(self.speed, self.speed)


@vy.struct
class Sample(vy.Struct):
    kind: vy.u8
    weight: vy.f64
    is_alive: vy.bool_
    count: vy.i16
    half: vy.f16


@vy.struct
class Pair(vy.Struct):
    first: Sample
    second: vy.vec(vy.i32, 2)


def particles(count: int = 5) -> np.ndarray:
    made = np.zeros(count, Particle.dtype)
    draw = np.random.default_rng(7)
    made["place"], made["speed"] = draw.normal(size=(2, count, 3))
    made["mass"] = np.arange(count)
    return made


def samples(count: int = 5) -> np.ndarray:
    made = np.zeros(count, Sample.dtype)
    made["kind"], made["weight"] = np.arange(count) * 40, np.array([1.5, -2.25, np.pi, np.inf, -0.0])[:count]
    made["is_alive"], made["count"], made["half"] = np.arange(count) % 2, np.arange(count) - 2, 0.5
    return made


def test_structures_lie_as_a_compiler_of_c_lays_them_out() -> None:
    fields = Sample.dtype.fields
    assert {name: fields[name][1] for name in Sample.dtype.names} == {
        "kind": 0, "weight": 8, "is_alive": 16, "count": 18, "half": 20,
    }  # fmt: skip
    assert (Sample.dtype.itemsize, Pair.dtype.itemsize) == (24, 32)
    assert Particle.dtype == np.dtype([("place", "f4", 3), ("speed", "f4", 3), ("mass", "f4")], align=True)
    assert layout_of(Particle.dtype).unit is vy.f32, "fields of one type are that type"
    assert (layout_of(Sample.dtype).unit, layout_of(Sample.dtype).count) == (vy.u8, 24)
    mixed = np.dtype([("a", "f4"), ("b", "u4"), ("c", "f8")], align=True)
    assert (layout_of(mixed).unit, layout_of(mixed).count) == (vy.u32, 4)


@vy.kernel
def moved(p: vy.Array[Particle, "n"], dt: vy.f32) -> vy.Array[Particle, "n"]:
    q = p[vy.index()]
    q.place = q.place + q.speed * dt
    return q


@vy.kernel
def moved_into(p: vy.Array[Particle, "n"], out: vy.Out[Particle, "n"]) -> None:
    out[vy.index()] = p[vy.index()]


@vy.kernel
def energy(p: vy.Array[Particle, "n"]) -> vy.Array[vy.f32, "n"]:
    return p[vy.index()].energy()


@vy.kernel
def changed(p: vy.InOut[Particle, "n"], s: vy.InOut[Sample, "n"]) -> None:
    i = vy.index()
    p[i].mass += 1.0
    p[i].place.y = p.speed[i].x * 2.0
    p.place[i].z = p[i].place[0]
    s[i].weight = s.weight[i] * 2.0
    s[i].count -= 3
    s[i].is_alive = not s[i].is_alive
    s[i].kind = vy.u8(200)
    s[i].half = s[i].half + 1.0


def test_kernels_take_and_return_structures(backend: vy.VyreBackend) -> None:
    p = particles()
    found = moved.on(backend)(p, 0.5)
    assert found.dtype == Particle.dtype
    assert np.array_equal(found["place"], p["place"] + p["speed"] * np.float32(0.5))
    assert np.array_equal(found[["speed", "mass"]], p[["speed", "mass"]])
    v = p["speed"]
    squares = v[:, 0] * v[:, 0] + v[:, 1] * v[:, 1] + v[:, 2] * v[:, 2]
    assert np.array_equal(energy.on(backend)(p), np.float32(0.5) * p["mass"] * squares)


def test_fields_of_all_sizes_are_read_and_written(backend: vy.VyreBackend) -> None:
    p, s = particles(), samples()
    before = p.copy(), s.copy()
    found, other = changed.on(backend)(p, s)
    assert np.array_equal(found["mass"], p["mass"] + 1)
    assert np.array_equal(found["place"][:, 1], p["speed"][:, 0] * 2)
    assert np.array_equal(found["place"][:, 2], p["place"][:, 0])
    assert np.array_equal(other["weight"], s["weight"] * 2)
    assert np.array_equal(np.signbit(other["weight"]), np.signbit(s["weight"]))
    assert np.array_equal(other["count"], s["count"] - 3)
    assert np.array_equal(other["is_alive"], ~s["is_alive"])
    assert (other["kind"] == 200).all()
    assert (other["half"] == 1.5).all()
    assert np.array_equal(p, before[0])
    assert np.array_equal(s, before[1]), "what is passed is not changed"


def test_padding_keeps_its_bytes_and_is_zero_in_results(backend: vy.VyreBackend) -> None:
    @vy.kernel
    def marked(s: vy.InOut[Sample, "n"], out: vy.Out[Sample, "n"]) -> None:
        i = vy.index()
        s[i].kind = vy.u8(1)
        out[i] = s[i]

    s = samples(1)
    s.view(np.uint8)[1:8] = 0xAB
    found, made = marked.on(backend)(s)
    assert found.view(np.uint8)[:8].tolist() == [1, *[0xAB] * 7]
    assert made.view(np.uint8)[:8].tolist() == [1, *[0] * 7]


def test_nested_structures_and_arrays_of_several_axes(backend: vy.VyreBackend) -> None:
    @vy.kernel
    def swapped(p: vy.Array[Pair, "h", "w"]) -> vy.Array[Pair, "h", "w"]:
        y, x = vy.index()
        q = p[y, x]
        q.second = vy.vec(q.second.y, q.second.x + vy.i32(p[y, x].first.count))
        if q.second.x > 2:
            q.first.weight = p.first[y, x].weight + 1.0 if p.shape[0] == 2 and p.size == 6 else 0.0
        return q

    pairs = np.zeros((2, 3), Pair.dtype)
    pairs["second"] = np.arange(12).reshape(2, 3, 2)
    pairs["first"]["count"] = 100
    found = swapped.on(backend)(pairs)
    assert np.array_equal(found["second"][..., 0], pairs["second"][..., 1])
    assert np.array_equal(found["second"][..., 1], pairs["second"][..., 0] + 100)
    assert np.array_equal(found["first"]["weight"], (pairs["second"][..., 1] > 2).astype(float))


def test_types_of_numpy_make_types_of_vectors() -> None:
    for dtype in (np.float32, np.dtype("f4"), "float32"):
        assert vy.vec(dtype, 3) == vy.vec(vy.f32, 3) == vy.Vec3[dtype]
    with pytest.raises(vy.BuildError, match="called outside of a kernel"):
        vy.vec(1.0, 2.0)


def test_arrays_of_vectors_have_one_axis_more(backend: vy.VyreBackend) -> None:
    Colour = vy.vec(vy.f32, 3)

    @vy.func
    def grey(c: vy.Vec3[vy.f32]) -> vy.f32:
        return (c.x + c.y + c.z) / 3.0

    @vy.kernel
    def greyed(image: vy.Array[Colour, "h", "w"]) -> vy.Array[Colour, "h", "w"]:
        y, x = vy.index()
        return Colour(grey(image[y, x]), image[y, x].y, 1)

    image = np.random.default_rng(1).random((3, 4, 3), np.float32)
    found = greyed.on(backend)(image)
    assert np.array_equal(found[..., 0], (image[..., 0] + image[..., 1] + image[..., 2]) / np.float32(3))
    assert np.array_equal(found[..., 1:], np.stack([image[..., 1], np.ones((3, 4), np.float32)], 2))


def test_memory_of_workgroups_and_invocations_holds_structures(backend: vy.VyreBackend) -> None:
    @vy.kernel(workgroup_size=4)
    def sums(p: vy.Array[Particle, "n"]) -> vy.Array[vy.Vec3[vy.f32], "n"]:
        tile, own = vy.workgroup(Particle, 4), vy.private(vy.Vec3[vy.f32], 2)
        k = vy.local_id()
        tile[k] = p[vy.index()]
        vy.barrier()
        for j in range(4):
            own[1] = own[1] + tile[j].place * tile.mass[j]
        return own[1]

    p = particles(8)
    expected = np.zeros((2, 3), np.float32)
    for j in range(4):
        expected += p["place"].reshape(2, 4, 3)[:, j] * p["mass"].reshape(2, 4, 1)[:, j]
    assert np.array_equal(sums.on(backend)(p), expected.repeat(4, 0))


def test_atomics_of_fields(backend: vy.VyreBackend) -> None:
    @vy.struct
    class Bin(vy.Struct):
        count: vy.u32
        total: vy.u32

    @vy.kernel(shape="n")
    def binned(x: vy.Array[vy.u32, "n"], bins: vy.InOut[Bin, 4]) -> None:
        i = vy.index()
        bins.count.atomic_add(x[i] % 4, 1)
        bins.total.atomic_add(x[i] % 4, x[i])

    x = np.arange(100, dtype=np.uint32) ** 2
    found = binned.on(backend)(x, np.zeros(4, Bin.dtype))
    assert found["count"].tolist() == np.bincount(x % 4, minlength=4).tolist()
    assert found["total"].tolist() == [int(x[x % 4 == k].sum()) for k in range(4)]


def test_structures_of_a_type_of_numpy_keep_its_layout(backend: vy.VyreBackend) -> None:
    dtype = np.dtype([("tag", "u1"), ("x", "<f8"), ("rgb", "u1", 3)])
    Packed = vy.struct(dtype)
    assert Packed.dtype == dtype
    assert dtype.itemsize == 12

    @vy.kernel
    def doubled(p: vy.Array[Packed, "n"]) -> vy.Array[Packed, "n"]:
        q = p[vy.index()]
        return Packed(q.tag, q.x * 2.0, q.rgb + vy.u8(1))

    given = np.array([(1, 0.1, (1, 2, 3)), (2, -7e300, (253, 254, 255))], dtype)
    assert doubled.on(backend)(given)["rgb"].tolist() == [[2, 3, 4], [254, 255, 0]]
    assert doubled.on(backend)(given)["x"].tolist() == [0.2, -1.4e301]


# ── arrays of a device ───────────────────────────────────────────────────────────────────────────────────────────────


def test_arrays_of_a_device_come_back_as_they_were(backend: vy.VyreBackend) -> None:
    host = samples()
    array = vy.array(host, backend=backend)
    assert (array.shape, array.ndim, array.size, len(array), array.nbytes) == ((5,), 1, 5, 5, host.nbytes)
    assert (array.dtype, array.device) == (Sample.dtype, backend.id())
    assert array.numpy().tobytes() == host.tobytes()
    assert array.copy().numpy().tobytes() == host.tobytes()
    assert array[1:4:2].numpy().tolist() == host[1:4:2].tolist()
    assert array[-1].item() == host[-1].item()
    assert array.reshape(1, 5)[0, ..., 1:].numpy().tolist() == host[1:].tolist()
    assert [a.item() for a in array[:2]] == host[:2].tolist()
    rows = [(1, 2.5, True, -3, 0.5)]
    assert vy.array(rows, Sample, backend=backend).numpy().tolist() == rows
    assert vy.zeros((2, 2), Sample, backend=backend).numpy().tobytes() == bytes(96)
    assert vy.empty(3, Sample, backend=backend).shape == (3,)


def test_fields_are_views(backend: vy.VyreBackend) -> None:
    host = np.zeros(4, Pair.dtype)
    host["second"] = [[k, k + 10] for k in range(4)]
    array = vy.array(host, backend=backend)
    assert array["second"].numpy().tolist() == host["second"].tolist()
    array["second"][1:, 0] = 7
    array["first"]["weight"] = 2.5
    array["first"]["kind"][::2] = np.uint8([8, 9])
    host["second"][1:, 0], host["first"]["weight"], host["first"]["kind"][::2] = 7, 2.5, [8, 9]
    assert array.numpy().tobytes() == host.tobytes()
    array[2] = host[0]
    host[2] = host[0]
    assert array.numpy().tobytes() == host.tobytes()


def test_launches_take_and_give_them_where_they_are(backend: vy.VyreBackend) -> None:
    host = particles(64)
    array = vy.array(host, backend=backend)
    counts = backend.backend_metric_snapshot()
    found = moved(moved(array, 0.5), 0.25)
    assert isinstance(found, vy.StructArray)
    with pytest.raises(TypeError, match=r"no comparisons\. Fix: "):
        assert found != array
    for compute in (lambda: found + array, lambda: 2 * array, lambda: -array):
        with pytest.raises(TypeError, match=r"<structure.*no arithmetic\. Fix: write a kernel"):
            compute()
    after = backend.backend_metric_snapshot()
    assert after.get("copies_out", 0) == counts.get("copies_out", 0), "nothing is read back"
    assert np.array_equal(found.numpy(), moved(moved(host, 0.5), 0.25))
    target = vy.zeros(64, Particle, backend=backend)
    moved_into(array, out=target)
    assert np.array_equal(target.numpy(), host)
    made = np.zeros(64, Particle.dtype)
    moved_into(host, out=made)
    assert np.array_equal(made, host)


def test_memory_of_the_host_is_shared(backend: vy.VyreBackend) -> None:
    array = vy.array(particles(), backend=backend)
    inside = array.numpy(copy=False)
    array["mass"][0] = 70
    assert inside["mass"][0] == np.asarray(array)["mass"][0] == 70
    assert np.asarray(array).dtype == Particle.dtype
    array.close()
    gc.collect()
    assert inside["mass"].tolist() == [70, 1, 2, 3, 4]
    with pytest.raises(StaleHandle):
        array.numpy()


def test_host_memory_is_used_in_place() -> None:
    host = np.zeros(64, Particle.dtype)
    array = vy.asarray(host, backend="cpu")
    array["mass"] = 3
    assert (host["mass"] == 3).all()
    assert vy.asarray(array) is array


def test_graphs_hold_units() -> None:
    host = particles()
    with vy.graph("steps") as g:
        once = moved(g.input("p", vy.f32, (5, 7)), 0.5)
        g.output("p", moved(once, 0.25))
    units = vy.array(host, backend="cpu").units
    found = g.compile("cpu").run(p=units.numpy())["p"]
    assert np.array_equal(found.view(Particle.dtype)[:, 0], moved(moved(host, 0.5), 0.25))


def test_a_kernel_over_structures_is_pickled() -> None:
    p = particles()
    assert np.array_equal(pickle.loads(pickle.dumps(moved))(p, 1), moved(p, 1))  # noqa: S301


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_other_arrays_are_refused() -> None:
    plain = np.zeros(5, np.float32)
    other = np.zeros(5, [("place", "f4", 3), ("mass", "f4")])
    for given, match in (
        (plain, r"got one of float32, expected an array of .*Fix: make it with that type"),
        (other, r"'p'.*got one of .*mass.*expected an array of .*speed"),
        ([1, 2], r"Fix: make it with that type"),
        (vy.array(plain), "got one of f32"),
    ):
        with pytest.raises(InvalidInput, match=match):
            moved(given, 0.5)
    with pytest.raises(InvalidInput, match="a contiguous array"):
        moved_into(particles(), out=np.zeros(10, Particle.dtype)[::2])
    with pytest.raises(InvalidInput, match=r"rows of .*Fix: pass a list of tuples"):
        vy.array([(1, 2)], Sample)
    with pytest.raises(InvalidInput, match=r"got 'masse', expected one of 'place', 'speed', 'mass'"):
        vy.zeros(2, Particle)["masse"]
    with pytest.raises(InvalidInput, match=r"no multiple of its size.*Fix: read it from .numpy\(\)"):
        vy.zeros(2, np.dtype([("a", "u1"), ("b", "f4")]))["b"]
    with pytest.raises(InvalidInput, match=r"the field 'm' of .*Fix: use fields of numbers"):
        vy.zeros(2, np.dtype([("m", "f4", (2, 2))]))
    with pytest.raises(BuildError, match=r"got the type datetime64\[s\], expected a type"):
        vy.zeros(2, np.dtype([("t", "M8[s]")]))
    with pytest.raises(IndexError, match=r"2 indices for the shape \(2,\)"):
        vy.zeros(2, Particle)[0, 0]


def refused(kernel: Any, match: str) -> None:
    with pytest.raises(vy.KernelError, match=match):
        _ = kernel.program


def test_kernels_that_mean_nothing() -> None:
    @vy.kernel
    def whole(p: vy.InOut[Particle, "n"]) -> None:
        p[vy.index()] = 1.0

    @vy.kernel
    def unindexed(p: vy.Array[Particle, "n"]) -> vy.Array[vy.f32, "n"]:
        return p.mass

    @vy.kernel
    def assigned(p: vy.InOut[Particle, "n"]) -> None:
        p.mass = 1.0

    @vy.kernel
    def missing(p: vy.Array[Particle, "n"]) -> vy.Array[vy.f32, "n"]:
        return p[vy.index()].masse

    @vy.kernel
    def read_only(p: vy.Array[Particle, "n"], out: vy.Out[vy.f32, "n"]) -> None:
        p[vy.index()].mass = 1.0

    @vy.kernel
    def shared(s: vy.InOut[Sample, "n"]) -> None:
        s.count.atomic_add(vy.index(), 1)

    @vy.kernel
    def unnamed(p: vy.InOut[Particle, "n"]) -> None:
        p.atomic_add(vy.index(), 1.0)

    @vy.kernel
    def component(p: vy.Array[Particle, "n"]) -> vy.Array[vy.f32, "n"]:
        return p[vy.index()].place[vy.index()]

    @vy.kernel
    def short(p: vy.InOut[Particle, "n"]) -> None:
        p[vy.index()].place = vy.vec(1.0, p[0].mass)

    refused(whole, r"got 1.0 for p\[…\], expected a Particle[\s\S]*Fix: pass Particle\(…\)")
    refused(unindexed, r"got 'p.mass' of all elements[\s\S]*Fix: index it, as in p.mass\[vy.index\(\)\]")
    refused(assigned, r"'p.mass' of all elements is assigned[\s\S]*Fix: index it")
    refused(missing, r"'Particle' has no field 'masse'[\s\S]*Fix: use one of place, speed, mass, energy")
    refused(read_only, r"'p' is an input, which cannot be written[\s\S]*Fix: annotate 'p' with")
    refused(shared, r"'s.count' shares its memory[\s\S]*Fix: give all fields one type")
    refused(unnamed, r"an element of 'p' is not a number[\s\S]*Fix: name a number of it")
    refused(component, r"index of a component must be a number that is known at compile time")
    refused(short, r"got a vector, expected 3 components of f32[\s\S]*Fix: pass vy.vec")
    with pytest.raises(vy.KernelError, match=r"a Particle is a parameter[\s\S]*Fix: pass an array of one element"):

        @vy.kernel
        def scalar(p: Particle, out: vy.Out[vy.f32, 1]) -> None:
            out[0] = p.mass

    with pytest.raises(BuildError, match="a vector of 5 components"):
        vy.vec(vy.f32, 5)
    with pytest.raises(BuildError, match="made outside of a kernel"):
        vy.Vec3[vy.f32](1, 2, 3)


def test_a_kernel_over_structures_is_run_and_examined_by_name(backend: vy.VyreBackend) -> None:
    @vy.kernel(shape="n")
    def counted(p: vy.InOut[Particle, "n"], heaviest: vy.Out[vy.f32, 1]) -> None:
        i = vy.index()
        p[i].mass += 1.0
        heaviest[i & 3] = p[i].mass

    particles = np.zeros(3, Particle.dtype)
    particles["mass"] = [1, 2, 4]
    one = particles[:1].copy()
    found = vy.run(counted, p=particles, backend=backend)["p"]
    assert (found.dtype, found["mass"].tolist(), particles["mass"].tolist()) == (Particle.dtype, [2, 3, 5], [1, 2, 4])
    held = vy.run(counted, p=vy.array(particles, backend=backend))["p"]
    assert isinstance(held, vy.StructArray)
    assert held.numpy().tobytes() == found.tobytes()
    units = vy.array(particles, backend=backend).units.numpy()
    assert vy.run(counted, p=units, backend=backend)["p"].tobytes() == found.tobytes()
    assert vy.check(counted, p=one, backend=backend)["p"]["mass"].tolist() == [2]
    assert "counted" in str(vy.explain(counted, p=particles, backend=backend))
    with pytest.raises(vy.InvalidInput, match=r"'p': got an array of structures, expected an array of"):
        vy.run(counted, p=np.zeros(3, [("mass", "f8"), ("age", "u1")]), backend=backend)


def test_a_structure_of_ctypes_keeps_its_layout() -> None:
    class Sample(ctypes.Structure):
        _fields_ = (("flag", ctypes.c_uint8), ("value", ctypes.c_float))

    class Bits(ctypes.Structure):
        _fields_ = (("low", ctypes.c_uint8, 3), ("value", ctypes.c_float))

    made = vy.struct(Sample)
    assert made.dtype == np.dtype(Sample)
    with pytest.raises(vy.BuildError, match="for bit fields, the integer that holds them"):
        vy.struct(Bits)

    @vy.kernel
    def values(samples: vy.Array[made, "n"]) -> vy.Array[vy.f32, "n"]:
        return samples[vy.index()].value

    samples = (Sample * 2)()
    samples[1].value = 2.5
    with pytest.raises(vy.VyreError, match=r"as in numpy.frombuffer\(x, Particle.dtype\)$"):
        values(samples)
    assert values(np.frombuffer(samples, made.dtype)).tolist() == [0, 2.5]


def test_a_structure_of_ctypes_has_the_fields_of_its_base_classes() -> None:
    class Base(ctypes.Structure):
        _fields_ = (("key", ctypes.c_int32),)

    class Derived(Base):
        _fields_ = (("value", ctypes.c_int32),)

    class Outer(ctypes.Structure):
        _fields_ = (("first", Derived), ("last", ctypes.c_uint8))

    made = vy.struct(Outer)
    assert made.dtype.itemsize == ctypes.sizeof(Outer)

    @vy.kernel
    def moved(x: vy.InOut[made, "n"]) -> None:
        i = vy.index()
        x[i].first.value = x[i].first.key + vy.i32(x[i].last)

    found = moved(np.frombuffer((Outer * 2)(Outer(Derived(1, 2), 3), Outer(Derived(4, 5), 6)), made.dtype))
    assert [(a, b, c) for (a, b), c in found.tolist()] == [(1, 4, 3), (4, 10, 6)]


def test_fields_that_overlap_are_refused() -> None:
    class Bits(ctypes.Union):
        _fields_ = (("number", ctypes.c_float), ("word", ctypes.c_uint32))

    overlapping = np.dtype({"names": ["low", "all"], "formats": ["u1", "u4"], "offsets": [0, 0]})
    for given in (Bits, overlapping):
        with pytest.raises(vy.VyreError, match=r"expected fields that do not overlap. Fix: keep one of the fields"):
            vy.struct(given)


def test_what_evaluates_the_annotations_is_no_method() -> None:
    """Python 3.14 leaves a function of its own in classes whose annotations are not postponed."""

    def evaluate(format: int, /) -> dict[str, object]:
        return {"x": vy.f32}

    made = vy.struct(type("Made", (), {"__annotations__": evaluate(1), "__annotate_func__": evaluate}))

    assert made.fields == {"x": vy.f32}


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_memory_of_its_own(copied: Callable[[Any], Any]) -> None:
    array = vy.array(np.ones(3, [("x", "f4"), ("n", "u4")]))
    other = copied(array)
    assert isinstance(other, vy.StructArray)
    other["x"] = 5
    assert array.tolist() == [(1, 1)] * 3
    assert other.tolist() == [(5, 1)] * 3


def test_annotations_that_only_type_checkers_see_are_refused() -> None:
    with pytest.raises(BuildError) as error:

        @vy.struct
        class Far(vy.Struct):
            place: "OnlyInTypeChecking"

    assert str(error.value) == (
        "an annotation of 'Far' cannot be evaluated (NameError: name 'OnlyInTypeChecking' is not defined). "
        "Fix: write types of vyre, such as vy.f32, by names that the module has when it runs"
    )
