"""Algorithms over arrays with the same bits on every backend, from `vyre_algorithms`.

Some names have another meaning in `vyre` itself: `vyre.algorithms.select` takes an array, `vyre.select` chooses between
two values of a kernel.
"""

from vyre_algorithms import *  # noqa: F403
