"""BLAKE3, search for patterns, clusters and networks against their definitions."""

from __future__ import annotations

import blake3
import numpy as np
import pytest
from algorithm_data import data, same

import vyre_algorithms as va
from vyre_driver.errors import InvalidInput

LENGTHS = (0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 3072, 5120, 8193)
VECTORS = {
    0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    1: "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
}
"""Of the input of the published vectors, whose byte n is n modulo 251."""


def test_blake3(backend):
    lengths = LENGTHS if backend != "reference" else LENGTHS[:8]
    messages = [bytes(n % 251 for n in range(length)) for length in lengths]
    found = [bytes(row).hex() for row in va.blake3(messages, backend=backend)]
    assert found == [blake3.blake3(message).hexdigest() for message in messages]
    assert {n: found[n] for n in VECTORS} == VECTORS
    assert va.blake3([]).shape == (0, 32)


def matches(text, patterns):
    """By Python's `bytes.find`, in the order of the ends, of one end the longest first."""
    found = []
    for number, word in enumerate(patterns):
        at = text.find(word)
        while at >= 0:
            found.append((at + len(word), -len(word), number, at))
            at = text.find(word, at + 1)
    return [(start, number) for _, _, number, start in sorted(found)]


@pytest.mark.parametrize("length", [1, 2, 300, 1024, 1025, 4096, 4097])
def test_patterns_of_short_texts(length):
    """Matches are counted before there is memory for them, or it is enough for any number of them."""
    text = (b"ushers aaaaahishe" * 300)[:length]
    for patterns in ([b"she"], [b"aaaa", b"aaa", b"aa", b"a"], [b"x"], [b"aa"] * 5):
        starts, numbers = va.find_all(text, patterns, backend="cpu")
        assert list(zip(starts.tolist(), numbers.tolist(), strict=True)) == matches(text, patterns)


@pytest.mark.parametrize("patterns", [[b"he", b"she", b"his", b"hers", b"he"], [b"a" * 9, b"a"], [b"xyz"], []])
def test_patterns(backend, patterns):
    text = (b"ushers ahishe " * 700)[: 300 if backend == "reference" else 4096 + 700] + b"aaaaaaaaaaa"
    starts, numbers = va.find_all(text, patterns, backend=backend)
    assert list(zip(starts.tolist(), numbers.tolist(), strict=True)) == matches(text, patterns)
    same(va.find_all(text, (pattern for pattern in patterns), backend=backend)[0], starts)
    same(va.find_all(memoryview(text.replace(b"", b"-"))[1::2], patterns, backend=backend)[0], starts)


def test_patterns_of_all_bytes():
    text = bytes(range(256)) * 40
    patterns = [bytes([n]) for n in range(256)] + [bytes([255, 0, 1])]
    starts, numbers = va.find_all(np.frombuffer(text, np.uint8), patterns)
    assert list(zip(starts.tolist(), numbers.tolist(), strict=True)) == matches(text, patterns)


def test_clusters(backend):
    random = np.random.default_rng(1)
    points = np.concatenate([random.standard_normal((40, 2)) + at for at in ([0, 0], [20, 0], [0, 20])]).astype("f4")
    centres, labels = va.kmeans(points, 3, 4, backend=backend)
    distances = ((points[:, None].astype("f8") - centres) ** 2).sum(2)
    same(labels, distances.argmin(1))
    for n in range(3):
        np.testing.assert_allclose(centres[n], points[labels == n].mean(0), rtol=1e-5)
        same(centres[n, 0], va.sum(np.ascontiguousarray(points[labels == n, 0])) / np.float32((labels == n).sum()))


def test_clusters_without_points(backend):
    """Equal points go to the first of equal centres, and the others stay where they are."""
    points = np.repeat(np.float32([[1, 2], [1, 2], [5, 6]]), [3, 4, 1], axis=0)
    centres, labels = va.kmeans(points, 8, backend=backend)
    assert {tuple(row) for row in centres.tolist()} == {(1.0, 2.0), (5.0, 6.0)}
    assert len(set(labels.tolist())) == 2


@pytest.mark.parametrize(("number", "clusters"), [(9000, 2), (20_000, 5)])
def test_sums_of_large_clusters_have_the_order_of_sum(number, clusters):
    """Clusters of several blocks: the sum is that of `sum`, to the bit."""
    points = data("f4", (number, 2))
    centres, labels = va.kmeans(points, clusters, iterations=1)
    for n in range(clusters):
        own = np.ascontiguousarray(points[labels == n])
        assert own.shape[0] > 1
        same(centres[n], va.sum(own, 0) / np.float32(own.shape[0]))


def network():
    random = np.random.default_rng(2)
    return random.integers(0, 60, 150), random.integers(0, 60, 150)


def test_ranks_have_the_same_bits(backend):
    found, wanted = (va.pagerank(*network(), 64, iterations=9, backend=on) for on in (backend, "reference"))
    same(found, wanted)


def test_ranks():
    sources, targets = network()
    found = va.pagerank(sources, targets, 64, backend="cpu")
    steps = np.zeros((64, 64))
    np.add.at(steps, (targets, sources), 1)
    degrees = steps.sum(0)
    steps = np.where(degrees > 0, steps / np.maximum(degrees, 1), 1 / 64)
    values, vectors = np.linalg.eig(0.85 * steps + 0.15 / 64)
    exact = vectors[:, np.argmax(values.real)].real
    np.testing.assert_allclose(found, exact / exact.sum(), atol=1e-9)


@pytest.mark.parametrize("edges", [network(), (np.arange(199), np.arange(1, 200)), (np.arange(0), np.arange(0))])
def test_components(backend, edges):
    number = 200
    parent = list(range(number))

    def root(n):
        while parent[n] != n:
            n = parent[n]
        return n

    for a, b in zip(*edges, strict=True):
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    found = va.connected_components(*edges, number, backend=backend)
    same(found, np.array([root(n) for n in range(number)]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: va.blake3(["a"]), "got str, expected bytes-like objects"),
        (lambda: va.find_all(b"a", [b""]), "expected patterns that are not empty"),
        (lambda: va.find_all(data("u4", 3), [b"a"]), "expected bytes or an array of uint8"),
        (lambda: va.find_all(b"a", None), "'patterns': got None, expected bytes-like objects"),
        (lambda: va.find_all(b"a", ["a"]), "'patterns': got str, expected bytes-like objects"),
        (lambda: va.pagerank(np.array([0]), np.array([0]), 3, damping=None), "'damping': got None, expected a number"),
        (lambda: va.pagerank(np.array([0]), np.array([0]), 3, damping="x"), "'damping': got 'x', expected a number"),
        (lambda: va.pagerank(np.array([0]), np.array([0]), 3, tolerance="x"), "'tolerance': got 'x', expected"),
        (lambda: va.pagerank(np.array([0]), np.array([0]), 3, tolerance=None), "'tolerance': got None, expected"),
        (lambda: va.pagerank(np.array([0]), np.array([0]), 3, tolerance=np.nan), "'tolerance': got nan, expected"),
        (lambda: va.kmeans(np.ones((3, 2), "f4"), 4), "got 4, expected 0"),
        (lambda: va.kmeans(np.ones(3, "f4"), 1), "expected f32 or f64 with two axes"),
        (lambda: va.kmeans(np.ones((3, 2), "f4"), 2, iterations=0), "expected at least 1"),
        (
            lambda: va.pagerank(np.array([3]), np.array([0]), 3),
            "'sources': got 3, expected integers from 0 that are below 3",
        ),
        (lambda: va.connected_components(np.array([0]), np.array([-1]), 3), "'targets': got -1, expected integers"),
        (lambda: va.pagerank(np.array([0]), np.array([0]), 3, damping=2), "expected a number from 0 to 1"),
        (lambda: va.connected_components(np.array([0]), np.array([0, 1]), 3), "expected 1 elements"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        call()
    assert "Fix: " in str(caught.value)
