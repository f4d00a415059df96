"""Kernels with tuples, vectors and structures, and device functions that return from loops."""

import numpy as np
import pytest

import vyre as vy


def run(kernel: vy.KernelFunction, *args: object) -> object:
    return kernel.on("reference")(*args)


@vy.struct
class Body:
    """A point that moves on a line."""

    place: vy.f32
    speed: vy.f32

    def moved(self, by: vy.f32):
        return Body(self.place + self.speed * by, self.speed)


def test_structures_are_variables_of_their_fields() -> None:
    @vy.kernel
    def bounce(place: vy.Array[vy.f32, "n"], speed: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        i = vy.index()
        body = Body(place[i], speed=speed[i])
        for _ in range(4):
            body = body.moved(1.0)
            if body.place > 3.0:
                body.place = 6.0 - body.place
                body.speed *= -1.0
        return body.place

    assert run(bounce, np.float32([0, 0, 1]), np.float32([0.5, 1, 3])).tolist() == [2, 2, -7]


def test_vectors_compute_by_component() -> None:
    @vy.kernel
    def reflect(v: vy.Array[vy.f32, "n", 2], n: vy.Array[vy.f32, 2]) -> vy.Array[vy.f32, "n", 2]:
        i, k = vy.index()
        normal = vy.vec(n[0], n[1])
        ray = vy.vec(v[i, 0], v[i, 1])
        for _ in range(3):
            ray = ray - 2.0 * vy.dot(ray, normal) * normal
        return ray.x if k == 0 else -(-ray)[1]

    v, n = np.float32([[1, 2], [3, 4]]), np.float32([0, 1])
    assert run(reflect, v, n).tolist() == [[1, -2], [3, -4]]


def test_tuples_are_variables_of_their_parts() -> None:
    @vy.func
    def ordered(a, b):
        if a > b:
            return b, a
        return a, b

    @vy.kernel
    def fibonacci(n: vy.Array[vy.u32, "n"], low: vy.Out[vy.u32, "n"], high: vy.Out[vy.u32, "n"]):
        i = vy.index()
        pair = vy.u32(0), vy.u32(1)
        for _ in range(n[i]):
            pair = pair[1], pair[0] + pair[1]
        low[i], high[i] = ordered(pair[1], pair[0])

    low, high = run(fibonacci, np.uint32([0, 1, 2, 10]))
    assert low.tolist() == [0, 1, 1, 55]
    assert high.tolist() == [1, 1, 2, 89]


def test_device_functions_return_from_loops() -> None:
    @vy.func
    def first_factor(n: vy.u32) -> vy.u32:
        for p in (2, 3, 5):
            if n % p == 0:
                return p
        for k in range(7, 100, 2):
            if n % k == 0:
                return k
            if k * k > n:
                return n
        return 0

    @vy.func
    def found(x, n, wanted):
        for i in range(n):
            for j in range(n):
                if x[i * n + j] == wanted:
                    return i * 10 + j
        return vy.u32(99)

    @vy.kernel
    def factors(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        return first_factor(x[vy.index()])

    @vy.kernel
    def places(x: vy.Array[vy.u8, 9], wanted: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u32, "n"]:
        return found(x, 3, wanted[vy.index()])

    numbers = np.uint32([4, 9, 35, 49, 77, 101, 9409, 10403])
    assert run(factors, numbers).tolist() == [2, 3, 5, 7, 7, 101, 97, 0]
    wanted = np.uint8([0, 5, 8, 9])
    assert run(places, np.arange(9, dtype=np.uint8), wanted).tolist() == [0, 12, 22, 99]


def test_nested_branches_give_one_result() -> None:
    @vy.func
    def sign(x: vy.i32) -> vy.i32:
        if x != 0:
            if x > 0:
                return 1
            return -1
        return 0

    @vy.kernel
    def signs(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
        v = x[vy.index()]
        if v > 100:
            if v > 200:
                size = vy.i32(3)
            else:
                size = vy.i32(2)
        else:
            size = vy.i32(1)
        return sign(v) * size

    assert run(signs, np.int32([-5, 0, 7, 150, 250])).tolist() == [-1, 0, 1, 2, 3]


def compile_(function) -> str:
    with pytest.raises(vy.KernelError) as error:
        vy.kernel(function).program
    return str(error.value).split(": ", 1)[1]


def test_refused() -> None:
    @vy.func
    def partial(x):
        if x > 0.0:
            return x

    def no_result(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return partial(x[0])

    def other_kind(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        v = vy.vec(x[0], x[1])
        if x[0] > 0.0:
            v = x[2]
        return v.x

    def sizes(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return (vy.vec(x[0], x[1]) + vy.vec(x[0], x[1], x[2])).x

    def no_field(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return Body(x[0], x[1]).mass

    def fields(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return Body(x[0]).place

    assert compile_(no_result) == (
        "the function may end without returning a value\n"
        "    def partial(x):\n"
        "    ^^^^^^^^^^^^^^^\n"
        "Fix: return a value in every branch, or behind the `if`"
    )
    assert compile_(other_kind) == (
        "'v' is a variable with other parts\n            v = x[2]\n            ^\nFix: use another name"
    )
    assert compile_(sizes) == (
        "got vectors of 2 and 3 components\n"
        "        return (vy.vec(x[0], x[1]) + vy.vec(x[0], x[1], x[2])).x\n"
        "                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "Fix: use vectors of one size"
    )
    assert compile_(no_field) == (
        "'Body' has no field 'mass'\n"
        "        return Body(x[0], x[1]).mass\n"
        "               ^^^^^^^^^^^^^^^^^^^^^\n"
        "Fix: use one of place, speed, moved"
    )
    assert compile_(fields) == (
        "the field 'speed' of 'Body' has no value\n"
        "        return Body(x[0]).place\n"
        "               ^^^^^^^^^^\n"
        "Fix: pass place, speed"
    )


def test_parts_of_parts_are_variables() -> None:
    """Of a structure in a structure, and of a vector; in a loop and in a branch."""

    @vy.struct
    class Ball:
        place: vy.Vec2[vy.f32]
        body: Body

    @vy.kernel
    def bounce(x: vy.Array[vy.f32, "n"], y: vy.Out[vy.f32, "n"], seen: vy.Out[vy.f32, "n"]) -> None:
        i = vy.index()
        ball, free = Ball(vy.vec(x[i], 0.0), Body(0.0, 1.0)), vy.vec(x[i], x[i])
        for _ in range(3):
            ball.place.y += ball.body.speed
            if ball.place.y > 1.5:
                ball.body.speed = -ball.body.speed
                free.x = free.x + 10.0
        y[i], seen[i] = ball.place.y + ball.place.x, free.x

    y, seen = run(bounce, np.float32([0, 100]))
    assert y.tolist() == [1, 101]
    assert seen.tolist() == [10, 110]


def test_fields_have_defaults() -> None:
    @vy.struct
    class Drop(vy.Struct):
        place: vy.f32
        weight: vy.f32 = 3.0

    @vy.kernel
    def weights(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        i = vy.index()
        return Drop(x[i]).weight + Drop(x[i], weight=1.0).place

    assert run(weights, np.float32([1, 2])).tolist() == [4, 5]
    with pytest.raises(
        vy.BuildError, match=r"the field 'v' of 'Wrong' has the default 'a'; a default is a number\. Fix: "
    ):

        @vy.struct
        class Wrong:
            v: vy.f32 = "a"


def test_fields_that_are_passed_wrongly_are_named() -> None:
    def message_of(function) -> str:
        with pytest.raises(vy.KernelError) as error:
            _ = vy.kernel(function).program
        assert error.value.fix == "pass place, speed"
        return error.value.message

    def unknown(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return Body(speed=x[0], plaice=x[0]).place

    def twice(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return Body(x[0], place=x[0]).place

    def too_many(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return Body(x[0], x[0], x[0]).place

    assert message_of(unknown) == "the field 'plaice' of 'Body' does not exist"
    assert message_of(twice) == "the field 'place' of 'Body' gets two values"
    assert message_of(too_many) == "got 3 values for the 2 fields of 'Body'"


def test_a_structure_is_made_in_kernels() -> None:
    with pytest.raises(vy.BuildError) as error:
        Body(1.0, 2.0)
    assert str(error.value) == (
        "the structure 'Body' is made outside of a kernel. Fix: use NumPy there, as in numpy.zeros(n, Body.dtype)"
    )


def test_what_is_no_type_of_a_field_is_named_with_the_field() -> None:
    with pytest.raises(vy.BuildError, match=r"^Body\.places: got .*, expected a type\. Fix: use one of vy\.bool_"):

        @vy.struct
        class Body:
            mass: vy.f32
            places: vy.Array[vy.f32, 4]

    with pytest.raises(vy.BuildError, match=r"^Wave\.at: got the type complex64, .*Fix: pass its parts, z\.real"):

        @vy.struct
        class Wave:
            at: np.complex64


def test_a_type_of_vectors_makes_none() -> None:
    with pytest.raises(vy.BuildError) as error:
        vy.Vec3(1.0, 2.0, 3.0)
    assert str(error.value) == (
        "vy.Vec3 annotates vectors, and makes none. "
        "Fix: write vy.vec(…) in a kernel; a type of vectors is vy.Vec3[vy.f32]"
    )
