"""Algorithms over arrays whose results are the same bits on every backend: `vyre_algorithms` at the front door.

Those whose names mean something else in `vyre` have only this place: `vyre.algorithms.min` is of arrays, `vyre.min` of
two values of a program.
"""

from vyre_algorithms import *  # noqa: F403
