"""Structures and vectors are values in kernels: where Python would share one, a change of a part is refused."""

import numpy as np
import pytest

import vyre as vy

X = np.arange(4, dtype=np.float32)


@vy.struct
class Ball(vy.Struct):
    place: vy.f32
    speed: vy.f32

    def drop(self) -> None:
        self.place -= 1.0

    def bounce(self) -> None:
        if self.place < 0.0:
            self.speed = -self.speed

    def dropped(self, by):
        self = Ball(self.place, self.speed)
        self.place -= by
        return self


@vy.struct
class Pair(vy.Struct):
    one: Ball
    weight: vy.f32


@vy.func
def stop(ball):
    ball.speed = 0.0


@vy.func
def flattened(v):
    for _ in range(2):
        v.y = v.y * 0.5
    return v


def method(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball = Ball(x[vy.index()], 1.0)
    ball.drop()
    return ball.place


def method_with_a_branch(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball = Ball(x[vy.index()], 1.0)
    ball.bounce()
    return ball.speed


def function(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball = Ball(x[vy.index()], 1.0)
    stop(ball)
    return ball.speed


def vector(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return flattened(vy.vec(x[vy.index()], 1.0)).y


@pytest.mark.parametrize(
    ("kernel", "name", "callee"),
    [(method, "self", "drop"), (method_with_a_branch, "self", "bounce"), (function, "ball", "stop"),
     (vector, "v", "flattened")],
)  # fmt: skip
def test_a_change_of_an_argument_is_refused(kernel, name: str, callee: str) -> None:
    with pytest.raises(vy.KernelError) as error:
        _ = vy.kernel(kernel).program
    assert f"{name!r} is a copy of what the caller passed, and the change would be lost" in str(error.value)
    assert error.value.fix == f"return a new one, and assign what {callee}(…) returns in the caller"


def named_twice(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball = Ball(x[vy.index()], 1.0)
    other = ball
    other.place = 5.0
    return ball.place


def changed_later(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball = Ball(x[vy.index()], 1.0)
    before = ball
    for _ in range(3):
        ball.place += ball.speed
    return ball.place - before.place


def chained(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball = other = Ball(x[vy.index()], 1.0)
    ball.place = 5.0
    return other.place


def chosen(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball, other = Ball(x[vy.index()], 1.0), Ball(2.0, 2.0)
    first = ball if x[0] > 1.0 else other
    first.place = 5.0
    return ball.place


def in_a_tuple(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball = Ball(x[vy.index()], 1.0)
    pair = ball, 1
    ball.place = 5.0
    return pair[0].place


def in_a_field(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    ball = Ball(x[vy.index()], 1.0)
    pair = Pair(ball, 1.0)
    pair.one.place = 5.0
    return ball.place


def of_a_field(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    pair = Pair(Ball(x[vy.index()], 1.0), 1.0)
    ball = pair.one
    ball.place = 5.0
    return pair.one.place


def of_a_vector(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    v = vy.vec(x[vy.index()], 1.0)
    w = v
    v.x = 5.0
    return w.x


@pytest.mark.parametrize(
    ("kernel", "names", "remedy"),
    [
        (named_twice, "'other' and 'ball' are one Ball in Python, and two here", "Ball(ball.place, ball.speed)"),
        (changed_later, "'before' and 'ball' are one Ball", "Ball(ball.place, ball.speed)"),
        (chained, "'other' and 'ball' are one Ball", "Ball(ball.place, ball.speed)"),
        (chosen, "'first' and 'ball' are one Ball", "Ball(ball.place, ball.speed)"),
        (in_a_tuple, "'pair' and 'ball' are one Ball", "Ball(ball.place, ball.speed)"),
        (in_a_field, "'Pair(…).one' and 'ball' are one Ball", "Ball(ball.place, ball.speed)"),
        (of_a_field, "'ball' and 'pair.one' are one Ball", "Ball(pair.one.place, pair.one.speed)"),
        (of_a_vector, "'w' and 'v' are one vector", "vy.vec(v.x, v.y)"),
    ],
)
def test_a_second_name_for_what_changes_is_refused(kernel, names: str, remedy: str) -> None:
    with pytest.raises(vy.KernelError) as error:
        _ = vy.kernel(kernel).program
    assert names in error.value.message
    assert error.value.fix == f"make another one, {remedy}"


def test_an_element_of_a_tuple_is_not_changed_by_the_name_of_a_loop() -> None:
    def halved(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        balls = [Ball(x[vy.index()], 1.0), Ball(1.0, 1.0)]
        for ball in balls:
            ball.place *= 0.5
        return balls[0].place

    with pytest.raises(vy.KernelError, match="changes a part of a copy of the element"):
        _ = vy.kernel(halved).program


def test_what_python_computes_too_is_computed() -> None:
    @vy.kernel
    def exchanged(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        ball, other = Ball(x[vy.index()], 1.0), Ball(2.0, 2.0)
        ball.place += 1.0
        ball, other = other, ball
        return other.place

    @vy.kernel
    def renamed(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        pair = Pair(Ball(0.0, 0.0), 2.0)
        ball = Ball(x[vy.index()], 1.0)
        pair.one = ball
        other = ball
        return other.dropped(pair.weight).place + ball.place

    @vy.kernel
    def copied(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        ball = Ball(x[vy.index()], 1.0)
        other = Ball(ball.place, ball.speed)
        other.place = 5.0
        return ball.place

    @vy.kernel(shape="n")
    def stored(balls: vy.InOut[Ball, "n"], before: vy.Out[Ball, "n"], pairs: vy.Out[Pair, "n"]) -> None:
        i = vy.index()
        ball = balls[i]
        before[i] = ball
        ball.place += ball.speed
        balls[i] = pairs[i].one = ball
        ball.place = 0.0

    @vy.kernel(shape="n")
    def stored_in_turn(flows: vy.InOut[vy.Vec2[vy.f32], "n"], balls: vy.InOut[Ball, "n"]) -> None:
        i = vy.index()
        flow, ball = flows[i], balls[i]
        flow.x += 1.0
        ball.speed = flow.x
        flows[i], balls[i] = flow, ball

    balls = np.array([(1, 0.5), (2, 0.25)], Ball.dtype)
    after, before, pairs = stored(balls)
    assert before.tolist() == balls.tolist()
    assert after.tolist() == [(1.5, 0.5), (2.25, 0.25)]
    assert pairs.tolist() == [((1.5, 0.5), 0), ((2.25, 0.25), 0)]
    flows, balls = stored_in_turn(np.float32([[1, 2], [3, 4]]), balls)
    assert flows.tolist() == [[2, 2], [4, 4]]
    assert balls.tolist() == [(1, 2), (2, 4)]

    assert exchanged(X).tolist() == [1, 2, 3, 4]
    assert renamed(X).tolist() == [-2, 0, 2, 4]
    assert copied(X).tolist() == [0, 1, 2, 3]
