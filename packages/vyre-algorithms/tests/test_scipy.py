"""Algorithms against SciPy's: integers to the bit, floats within what their roundings allow."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from algorithm_data import data, same
from hypothesis import given, settings, strategies as st

import vyre_algorithms as va
from vyre_driver.errors import InvalidInput

seeds = st.integers(0, 2**32 - 1)
properties = settings(max_examples=25, deadline=None)


def coordinates(seed, rows, columns, number):
    """Different places of a matrix, and what is there."""
    random = np.random.default_rng(seed)
    places = random.permutation(rows * columns)[: min(number, rows * columns)]
    return places // columns, places % columns, random.integers(-1000, 1000, places.size, np.int64)


@properties
@given(seeds, st.integers(1, 60), st.integers(1, 60), st.integers(0, 300))
def test_sparse_matrices(seed, rows, columns, number):
    of_row, of_column, values = coordinates(seed, rows, columns, number)
    theirs = scipy.sparse.csr_array((values, (of_row, of_column)), (rows, columns))
    mine = va.csr(of_row, of_column, values, rows)
    same(mine[2].astype(theirs.indptr.dtype), theirs.indptr)
    x, wide = data("i8", columns, seed), data("i8", (columns, 3), seed)
    same(va.spmv(*mine, x), theirs @ x)
    same(va.spmv(*mine, wide), theirs @ wide)
    same(va.spmv(theirs.data, theirs.indices, theirs.indptr, x), theirs @ x)


def test_a_sparse_matrix_is_refused_with_its_parts() -> None:
    matrix = scipy.sparse.csr_array(np.eye(3))
    for sparse in (matrix, matrix.tocoo()):
        with pytest.raises(
            InvalidInput, match=r"expected an array\. Fix: pass x\.toarray\(\), or m\.data, m\.indices and"
        ):
            va.sum(sparse)


@properties
@given(seeds, st.integers(1, 200), st.integers(0, 200))
def test_connected_components(seed, number, edges):
    random = np.random.default_rng(seed)
    sources, targets = random.integers(0, number, (2, edges))
    matrix = scipy.sparse.csr_array((np.ones(edges), (sources, targets)), (number, number))
    _, theirs = scipy.sparse.csgraph.connected_components(matrix, directed=False)
    mine = va.connected_components(sources, targets, number)
    least = np.full(number, number)
    np.minimum.at(least, theirs, np.arange(number))
    assert mine.tolist() == least[theirs].tolist()


def test_fourier_transforms():
    """Of a length of each kind, as each is a program: none, a power of two (and 15 real numbers), and by a chirp."""
    for length, kind in ((1, "f4"), (8, "f8"), (17, "f4")):
        check_transforms(length, length, kind)


@pytest.mark.slow
@properties
@given(seeds, st.integers(1, 130), st.sampled_from(["f4", "f8"]))
def test_fourier_transforms_of_any_length(seed, length, kind):
    check_transforms(seed, length, kind)


def check_transforms(seed, length, kind):
    x = data(kind, (3, length), seed) + 1j * data(kind, (3, length), seed + 1)
    x = x.astype("c8" if kind == "f4" else "c16")
    bound = 16 * np.finfo(kind).eps * np.abs(x).max() * length
    for mine, theirs in ((va.fft, scipy.fft.fft), (va.ifft, scipy.fft.ifft)):
        for axis in (0, 1):
            assert np.abs(mine(x, axis) - theirs(x, axis=axis)).max() <= bound
    assert np.abs(va.rfft(x.real) - scipy.fft.rfft(x.real)).max() <= bound
    for n in (length, 2 * length - 1, 2 * length):
        assert np.abs(va.irfft(x, n) - scipy.fft.irfft(x, n)).max() <= bound


@properties
@given(seeds, st.integers(1, 12), st.integers(1, 12), st.integers(1, 5), st.integers(1, 5))
def test_filters(seed, height, width, tall, wide):
    x, weights = data("i4", (height, width), seed), data("i4", (tall, wide), seed + 1)
    for mode in ("full", "same") if tall > height or wide > width else ("full", "same", "valid"):
        same(va.convolve(x, weights, mode), scipy.signal.convolve(x, weights, mode, "direct"))
        same(va.correlate(x, weights, mode), scipy.signal.correlate(x, weights, mode, "direct"))


def neighbours(at):
    return at(0, 0) * 4 - at(0, 1) - at(0, -1) * 2 - at(1, 0) * 3 - at(-1, 0)


@properties
@given(seeds, st.integers(1, 20), st.integers(1, 20))
def test_stencils(seed, height, width):
    x = np.random.default_rng(seed).integers(-1000, 1000, (height, width), np.int32)
    weights = np.array([[0, -1, 0], [-2, 4, -1], [0, -3, 0]])
    for boundary, mode in (("edge", "nearest"), ("wrap", "wrap"), (7, "constant")):
        theirs = scipy.ndimage.correlate(x, weights, mode=mode, cval=7)
        same(va.stencil(x, neighbours, boundary=boundary), theirs)


@properties
@given(seeds, st.integers(1, 9), st.integers(1, 500))
def test_sums_of_segments(seed, segments, size):
    random = np.random.default_rng(seed)
    labels = np.sort(random.integers(0, segments, size))
    x = random.integers(-1000, 1000, size)
    starts = np.searchsorted(labels, np.arange(segments + 1))
    same(va.segmented_reduce(x, starts), scipy.ndimage.sum_labels(x, labels, np.arange(segments)).astype("i8"))


def test_random_numbers_have_their_distribution():
    for words in (va.philox(5, 1 << 16), va.threefry(5, 1 << 16)):
        assert scipy.stats.kstest(words / 2**32, "uniform").pvalue > 0.001
    first = np.array([va.shuffle(np.arange(64), key)[0] for key in range(4096)])
    assert scipy.stats.chisquare(va.bincount(first, minlength=64)).pvalue > 0.001
