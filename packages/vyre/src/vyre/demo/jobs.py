"""The jobs of the demo, in the order in which they run."""

from __future__ import annotations

from pathlib import Path

from vyre.demo import histogram, mandelbrot, scan, sha256
from vyre.demo.corpus import Corpus
from vyre.demo.job import Job

PICTURE = (960, 720, 256)
"""Width and height in pixels, and the most iterations per pixel."""


def jobs(corpus: Corpus, hashed: Corpus, picture: Path) -> list[Job]:
    """All jobs over `corpus`; SHA-256 over `hashed`, because a file is one invocation and the largest one decides."""
    return [
        sha256.job(hashed),
        scan.job(corpus),
        histogram.job(corpus),
        mandelbrot.job(*PICTURE, picture),
    ]
