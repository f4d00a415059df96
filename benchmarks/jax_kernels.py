"""The workloads as JAX says them: functions of whole arrays, into fresh ones."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from programs.elementwise import COEFFICIENTS, MAX_ROUNDS
from programs.graph import FAR
from programs.particles import SOFTENING
from programs.sizes import BINS, GROUP, KEY, PATTERN, ROUNDS
from programs.text import LINE, transitions

Jax = Any
_HALF, _QUARTER = np.float32(0.5), np.float32(0.25)


def copy(x: Jax) -> Jax:
    return jnp.copy(x)


def xor(x: Jax) -> Jax:
    return x ^ np.uint32(KEY)


def saxpy(x: Jax, y: Jax) -> Jax:
    return np.float32(2.5) * x + y


def polynomial(x: Jax) -> Jax:
    value = jnp.full_like(x, COEFFICIENTS[-1])
    for coefficient in reversed(COEFFICIENTS[:-1]):
        value = value * x + np.float32(coefficient)
    return value


def escape_time(x: Jax, y: Jax) -> Jax:
    def step(_: Jax, state: Jax) -> Jax:
        a, b, rounds = state
        aa, bb = a * a, b * b
        stays = aa + bb <= 4
        return jnp.where(stays, aa - bb + x, a), jnp.where(stays, a * b * 2 + y, b), rounds + stays

    return lax.fori_loop(0, MAX_ROUNDS, step, (x, y, jnp.zeros(x.shape, jnp.uint32)))[2]


def hash_chain(x: Jax) -> Jax:
    for n in range(ROUNDS):
        x = x ^ np.uint32(0x9E3779B9 + n)
        x = ((x << np.uint32(13)) | (x >> np.uint32(19))) * np.uint32(5) + np.uint32(0xE6546B64)
    return x


def stencil(x: Jax) -> Jax:
    wide = jnp.pad(x, 1)
    return wide[:-2] * _QUARTER + x * _HALF + wide[2:] * _QUARTER


def stencil_2d(plate: Jax) -> Jax:
    mean = (plate[:-2, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:] + plate[2:, 1:-1]) * _QUARTER
    return plate.at[1:-1, 1:-1].set(mean)


def reduction(x: Jax) -> Jax:
    return x.reshape(-1, GROUP).sum(axis=1, dtype=jnp.uint32)


def histogram(x: Jax) -> Jax:
    return jnp.zeros(BINS, jnp.uint32).at[x & np.uint32(BINS - 1)].add(np.uint32(1))


def prefix_sum(x: Jax) -> Jax:
    return jnp.cumsum(x, dtype=jnp.uint32)


def transpose(a: Jax) -> Jax:
    return a.T.copy()


def matmul(a: Jax, b: Jax) -> Jax:
    return a @ b


def sparse_product(starts: Jax, columns: Jax, values: Jax, vector: Jax) -> Jax:
    rows = jnp.repeat(jnp.arange(vector.size), jnp.diff(starts), total_repeat_length=values.size)
    return jnp.zeros_like(vector).at[rows].add(values * vector[columns], indices_are_sorted=True)


def byte_scan(text: Jax) -> Jax:
    wide = jnp.pad(text, (0, len(PATTERN) - 1))
    here = wide[: text.size] == PATTERN[0]
    for n, letter in enumerate(PATTERN[1:], 1):
        here = here & (wide[n : n + text.size] == letter)
    return here.astype(jnp.uint8)


def automaton(text: Jax) -> Jax:
    table, last = jnp.array(transitions(), jnp.uint8), len(PATTERN)

    def step(carry: tuple[Jax, Jax], letters: Jax) -> tuple[tuple[Jax, Jax], None]:
        state = table[carry[0].astype(jnp.uint32) * np.uint32(256) + letters]
        return (state, carry[1] + (state == last)), None

    lines = text.reshape(-1, LINE)
    start = jnp.zeros(len(lines), jnp.uint8)
    return lax.scan(step, (start, start), lines.T)[0][1]


def bitonic_sort(data: Jax) -> Jax:
    return jnp.sort(data)


def bfs_step(starts: Jax, neighbours: Jax, level: Jax, distances: Jax) -> Jax:
    """Over all edges: there are no loops of different lengths."""
    source = jnp.repeat(jnp.arange(distances.size), jnp.diff(starts), total_repeat_length=neighbours.size)
    reached = jnp.where(distances[source] == level[0], level[0] + np.uint32(1), np.uint32(FAR))
    return distances.at[neighbours].min(reached)


def n_body(places: Jax) -> Jax:
    def pull(own: Jax) -> Jax:
        ways = places - own[:, None]
        squares = (ways * ways).sum(axis=0) + np.float32(SOFTENING)
        return (ways / (squares * jnp.sqrt(squares))).sum(axis=1)

    return lax.map(pull, places.T, batch_size=GROUP).T


KERNELS = {
    "copy": copy,
    "xor": xor,
    "saxpy": saxpy,
    "polynomial": polynomial,
    "escape time": escape_time,
    "stencil": stencil,
    "stencil 2d": stencil_2d,
    "reduction": reduction,
    "histogram": histogram,
    "prefix sum": prefix_sum,
    "hash chain": hash_chain,
    "transpose": transpose,
    "matmul": matmul,
    "blocked matmul": matmul,
    "sparse product": sparse_product,
    "byte scan": byte_scan,
    "automaton": automaton,
    "bitonic sort": bitonic_sort,
    "bfs step": bfs_step,
    "n-body": n_body,
}
"""The sort is a sort of its own."""
