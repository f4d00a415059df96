"""The demo's programs against published values and plain Python, on every backend that CI has."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import vyre as vy
from vyre.demo import histogram, mandelbrot, scan, sha256
from vyre.demo.corpus import Corpus, standard_library
from vyre.demo.measure import measure

BACKENDS = ("reference", "cpu")


def corpus_of(*contents: bytes) -> Corpus:
    return Corpus(tuple(f"file{k}" for k in range(len(contents))), contents)


def test_the_constants_are_those_of_the_standard() -> None:
    assert sha256.ROUND_CONSTANTS[:2] == [0x428A2F98, 0x71374491]
    assert sha256.ROUND_CONSTANTS[63] == 0xC67178F2
    assert sha256.INITIAL_HASH[0] == 0x6A09E667
    assert sha256.INITIAL_HASH[7] == 0x5BE0CD19


@pytest.mark.parametrize("backend", BACKENDS)
def test_sha256_gives_the_published_digests(backend: str) -> None:
    """FIPS 180-4 examples, and every length around the two block boundaries of the padding."""
    contents = [
        b"abc",
        b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        b"",
        *(b"x" * n for n in range(50, 70)),
    ]
    job = sha256.job(corpus_of(*contents))
    digest = vy.run(job.program, dict(job.inputs), backend=backend, config=job.config)["digest"].astype(">u4").tobytes()
    assert digest[:32].hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest[32:64].hex() == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    assert [digest[32 * k :][:32] for k in range(len(contents))] == [hashlib.sha256(c).digest() for c in contents]


def test_the_automaton_finds_words_inside_of_words() -> None:
    table, ends = scan.automaton([b"she", b"he", b"hers"])
    state, found = 0, []
    for at, byte in enumerate(b"ushers"):
        state = int(table[state, byte])
        found += [(at, bit) for bit in range(3) if ends[state] >> bit & 1]
    assert found == [(3, 0), (3, 1), (5, 2)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_words_across_chunks_are_counted_once(backend: str) -> None:
    """A word at every position around a chunk's end, and one that overlaps itself."""
    lines = [b" " * (scan.CHUNK - 8 + k) + b"import" for k in range(16)]
    job = scan.job(corpus_of(*lines, b"is not None" * 3))
    assert measure(job, vy.backend_for(backend)).agrees


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [0, 1, 255, 256 * 64, 256 * 64 + 1])
def test_every_byte_is_counted(backend: str, size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8).tobytes()
    job = histogram.job(corpus_of(data))
    done = measure(job, vy.backend_for(backend))
    assert done.agrees
    assert int(done.outputs["count"].sum()) == size + 1  # the separator is counted too


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_picture_is_the_same_to_the_last_pixel(backend: str, tmp_path: Path) -> None:
    job = mandelbrot.job(50, 30, 64, tmp_path / "m.png")
    done = measure(job, vy.backend_for(backend))
    assert done.agrees
    assert job.finish is not None
    assert Path(job.finish(done.outputs)).read_bytes().startswith(b"\x89PNG")


def test_the_corpus_is_the_standard_library() -> None:
    corpus = standard_library()
    assert "dataclasses.py" in corpus.names
    assert corpus.size == sum(len(c) for c in corpus.contents)
    assert corpus.text.size == corpus.size + len(corpus.names)
    part = corpus.head(10_000)
    assert 0 < part.size <= 10_000
