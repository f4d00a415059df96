"""The programs that the suites run, as a user would write them, one domain a file, with what they must give."""

from programs.collecting import histogram, prefix_sum, ranks, reduction, shared_histogram
from programs.data import U32, counts, earlier_equals, group_sums, words
from programs.elementwise import copy, escape_time, polynomial, saxpy, xor
from programs.graph import bfs_level, bfs_step
from programs.hashing import blake3, hash_chain, sha256
from programs.matrix import blocked_matmul, matmul, sparse_product, transpose
from programs.particles import n_body, neighbour_forces
from programs.sizes import BINS, EACH, GROUP, KEY, PATTERN, ROUNDS, RUN, TILE
from programs.solvers import elimination, jacobi_step, trailing_update
from programs.sorting import bitonic_sort, merge_pass
from programs.stencil import stencil, stencil_2d, stencil_3d
from programs.text import automaton, byte_scan, word_scan

__all__ = [
    "BINS",
    "EACH",
    "GROUP",
    "KEY",
    "PATTERN",
    "ROUNDS",
    "RUN",
    "TILE",
    "U32",
    "automaton",
    "bfs_level",
    "bfs_step",
    "bitonic_sort",
    "blake3",
    "blocked_matmul",
    "byte_scan",
    "copy",
    "counts",
    "earlier_equals",
    "elimination",
    "escape_time",
    "group_sums",
    "hash_chain",
    "histogram",
    "jacobi_step",
    "matmul",
    "merge_pass",
    "n_body",
    "neighbour_forces",
    "polynomial",
    "prefix_sum",
    "ranks",
    "reduction",
    "saxpy",
    "sha256",
    "shared_histogram",
    "sparse_product",
    "stencil",
    "stencil_2d",
    "stencil_3d",
    "trailing_update",
    "transpose",
    "word_scan",
    "words",
    "xor",
]
