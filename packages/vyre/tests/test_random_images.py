"""Random programs over images, with borders, guards, windows and several components: `cpu` beside the reference."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from random import Random

import numpy as np
import pytest

import vyre as vy
from vyre_driver import availability
from vyre_foundation import Value
from vyre_foundation.functions import max as most, min as least

AXES = {1: ("n",), 2: ("h", "w"), 3: ("d", "h", "w"), 4: ("b", "d", "h", "w")}
WORKGROUPS = {
    1: [64, 32, 7],
    2: [(16, 16), (8, 8), (16, 4), (5, 3)],
    3: [(8, 4, 2), (4, 4, 4)],
    4: [(8, 4, 2), (4, 4, 4)],
}


def and_all(conditions: Iterable[Value]) -> Value:
    return reduce(lambda a, b: a & b, conditions)


LENGTHS = (1, 2, 3, 5, 8, 13, 15, 16, 17, 31, 33, 47, 64, 70)


class Image:
    """A program of one random shape: its launch has 1 to 4 axes, and elements have 1 to 3 components."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.rank = self.random.choice([1, 2, 2, 2, 3, 4])
        self.components = self.random.choice([1, 1, 2, 3])
        axes = AXES[self.rank]
        inner = axes if self.components == 1 else (*axes, self.components)
        has_components = self.components > 1 and self.rank < 3 and self.random.random() < 0.5
        launch = inner if has_components else axes
        sizes = [(self.components, 16), (4, 4), (4, 8, 2)][: len(launch)] if has_components else WORKGROUPS[self.rank]
        with vy.program("image", self.random.choice(sizes), shape=launch) as self.p:
            self.x, self.mask = self.p.read("x", vy.u32, shape=inner), self.p.read("mask", vy.u32, shape=axes)
            self.outs = [self.p.write(f"out{n}", vy.u32, shape=inner) for n in range(self.random.choice([1, 1, 2]))]
            ids = self.p.index()
            self.ids = (ids if isinstance(ids, tuple) else (ids,))[: self.rank]
            self.part = ids[-1] if has_components else None
            self.extents = [self.mask.shape[axis] for axis in range(self.rank)]
            self._body(self.random.choice(["plain", "returns", "branch", "interior", "border", "window", "box", "box"]))
        self.program = self.p.build()

    def _body(self, kind: str) -> None:
        p, ids, extents = self.p, self.ids, self.extents
        match kind:
            case "returns":
                with p.if_(ids[0] >= self.random.choice(extents)):
                    p.return_()
                self._stores()
            case "branch":
                with p.if_(self._mask() & 1 == 0):
                    self._stores()
            case "interior":
                with p.if_((ids[-1] > 0) & (ids[0] < extents[0] - 1)):
                    self._stores()
            case "border":
                near = (ids[0] == 0) | (ids[-1] == extents[-1] - 1)
                for out in self.outs:
                    value = vy.select(near, self._mask(), self._element())
                    out[self._place(*ids, *self._own())] = value
            case "box":
                self._box(self.random.choice(["torus", "floored", "clamped", "within", "inside", "anywhere"]))
            case "window":
                axis, total = self.random.randrange(self.rank), p.var(self._mask())
                i, n = ids[axis], extents[axis]
                bounds = [(most(i, 2) - 2, least(i + 3, n)), (0, 3), (i, n)]
                with p.range(*self.random.choice(bounds)) as k:
                    total.set(total * 3 + self.mask[self._place(*ids[:axis], k, *ids[axis + 1 :])])
                for out in self.outs:
                    out[self._place(*ids, *self._own())] = total
            case _:
                self._stores()

    def _box(self, border: str) -> None:
        """The sum of the neighbours on each axis, at a border that is treated in one of several ways."""
        p, total, r = self.p, self.p.var(self._mask()), self.random.choice([1, 2])

        def neighbours(chosen: tuple[Value, ...]) -> None:
            if len(chosen) == self.rank:
                value = total * 5 + self.mask[self._place(*chosen)]
                if border == "inside":
                    with p.if_(and_all(c < n for c, n in zip(chosen, self.extents, strict=True))):
                        total.set(value)
                else:
                    total.set(value)
                return
            i, n = self.ids[len(chosen)], self.extents[len(chosen)]
            stop = least(i + r + 1, n) if border == "within" else i + r + 1
            start = most(i, r) - r if border in ("within", "anywhere") else i - r
            is_counted = border in ("torus", "floored", "clamped", "inside")
            with p.range(0, 2 * r + 1) if is_counted else p.range(start, stop) as k:
                match border:
                    case "torus":
                        k = (i + n + k - r) % n
                    case "floored":
                        k = vy.u32(vy.floor_mod(vy.i32(i) + vy.i32(k) - r, vy.i32(n)))
                    case "clamped":
                        k = vy.u32(least(most(vy.i32(i) + vy.i32(k) - r, 0), vy.i32(n) - 1))
                    case "inside":
                        k = i + k - r
                neighbours((*chosen, k))

        neighbours(())
        for out in self.outs:
            out[self._place(*self.ids, *self._own())] = total

    def _own(self) -> Sequence[Value | int]:
        """The component of an invocation, or the first one."""
        return [0 if self.part is None else self.part] * (self.components > 1)

    def _stores(self) -> None:
        for out in self.outs:
            parts: list[Value | int] = list(range(self.components))
            self.random.shuffle(parts)
            if self.part is not None:
                parts = [(self.part + self.random.randrange(2)) % self.components]
            for part in parts[: self.random.choice([1, 3, 3])]:
                out[self._place(*self.ids, *[part] * (self.components > 1))] = self._value()

    def _value(self) -> Value:
        value = self._element()
        for _ in range(self.random.randrange(4)):
            other = self.random.choice([self._element(), *self.ids])
            value = self.random.choice([value + other, value - other, value * other, value ^ other])
        if self.random.random() < 0.3:
            value = vy.select(self._mask() > self._mask(), value, self._element())
        return value

    def _element(self) -> Value:
        part = [self.random.randrange(self.components)] * (self.components > 1)
        if self.part is not None and self.random.random() < 0.8:
            part = [self.random.choice([self.part, self.components - 1 - self.part])]
        return self.x[self._place(*self._coordinates(), *part)]

    def _mask(self) -> Value:
        return self.mask[self._place(*self._coordinates())]

    def _coordinates(self) -> Iterator[Value]:
        """Neighbours that lie anywhere, are clamped, or wrap around; and places of an image of another size."""
        for i, n in zip(self.ids, self.extents, strict=True):
            d = self.random.randrange(1, 4)
            around = [i, i + d, i - d, least(i + d, n - 1), most(i, d) - d, (i + d) % n, (i + n - d) % n, n - 1 - i]
            wrapped = [
                vy.select(i == 0, n - 1, i - 1),
                vy.select(i >= n - d, i + d - n, i + d),
                (i + d) % self.extents[0],
            ]
            wrapped.append(vy.u32(vy.floor_mod(vy.i32(i) - d, vy.i32(n))))
            scaled = [i >> 1, (i + d) >> 1, i // 3, (i + d) // n, i * 2, i * 2 + 1]
            yield self.random.choice(
                [*around, *wrapped, *scaled, most(least(i + d, n - 1), d) - 1, least(most(i, d) - d, n - d)]
            )

    def _place(self, *indices: object) -> object:
        return indices if len(indices) > 1 else indices[0]


@pytest.mark.skipif(not availability("cpu").is_available, reason="needs the backend cpu")
@pytest.mark.parametrize("seed", [*range(6), *[pytest.param(n, marks=pytest.mark.slow) for n in range(6, 600)]])
def test_an_image_is_that_of_the_reference(seed: int) -> None:
    image = Image(seed)
    data = np.random.default_rng(seed)
    for _ in range(3):
        shape = tuple(image.random.choice(LENGTHS[: {3: 10, 4: 6}.get(image.rank)]) for _ in range(image.rank))
        inner = shape if image.components == 1 else (*shape, image.components)
        given = {"x": data.integers(0, 2**32, inner, np.uint32), "mask": data.integers(0, 100, shape, np.uint32)}
        expected = vy.run(image.program, **given, backend="reference")
        found = vy.run(image.program, **given, backend="cpu")
        for name, array in expected.items():
            assert np.array_equal(found[name], array), (shape, name)
