"""Kernels as people write them with `@vy.kernel`, each beside the same loops in Python, which Numba compiles."""

from . import images, loops, points, statistics, tables
from .pair import Pair as Pair

PAIRS = images.PAIRS | points.PAIRS | statistics.PAIRS | tables.PAIRS | loops.PAIRS
