"""The same algorithms as JAX says them: one function each, with loops on the device."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from workloads.whole import ACCURACY, CENTRES, DAMPING, DEGREE, ITERATIONS, LAYERS, ROUNDS

Jax = Any


def search(neighbours: Jax, distance: Jax) -> Jax:
    edges = neighbours.reshape(-1, DEGREE)

    def step(state: Jax) -> Jax:
        before, _ = state
        nearer = jnp.minimum(before, before[edges].min(axis=1) + 1)
        return nearer, (nearer != before).any()

    return lax.while_loop(lambda state: state[1], step, (distance, jnp.bool_(True)))[0]


def rank(neighbours: Jax, share: Jax, start: Jax) -> Jax:
    edges = neighbours.reshape(-1, DEGREE)

    def step(state: Jax) -> Jax:
        before, _ = state
        made = np.float32(1 - DAMPING) + (before * share)[edges].sum(axis=1)
        return made, (jnp.abs(made - before) > 10 * ACCURACY).any()

    return lax.while_loop(lambda state: state[1], step, (start, jnp.bool_(True)))[0]


def gradient(right: Jax) -> Jax:
    side = round(right.size**0.5)

    def poisson(x: Jax) -> Jax:
        wide = jnp.pad(x.reshape(side, side), 1)
        made = 4 * wide[1:-1, 1:-1] - wide[:-2, 1:-1] - wide[2:, 1:-1] - wide[1:-1, :-2] - wide[1:-1, 2:]
        return made.reshape(-1)

    def step(_: Jax, state: Jax) -> Jax:
        x, r, d, rr = state
        q = poisson(d)
        alpha = rr / jnp.dot(d, q)
        r = r - alpha * q
        after = jnp.dot(r, r)
        return x + alpha * d, r, r + after / rr * d, after

    state = jnp.zeros_like(right), right, right, jnp.dot(right, right)
    return lax.fori_loop(0, ITERATIONS, step, state)[0]


def means(points: Jax, centres: Jax) -> Jax:
    xy = points.reshape(-1, 2)

    def step(_: Jax, centres: Jax) -> Jax:
        far = ((xy[:, None] - centres) ** 2).sum(axis=2)
        mine = nn.one_hot(far.argmin(axis=1), CENTRES, dtype=jnp.float32)
        return (mine.T @ xy) / jnp.maximum(mine.sum(axis=0), 1)[:, None]

    return lax.fori_loop(0, ROUNDS, step, centres.reshape(-1, 2)).reshape(-1)


def layers(image: Jax) -> Jax:
    side = round(image.size**0.5)
    made = image.reshape(side, side)
    for layer in range(LAYERS):
        match layer % 4:
            case 0:
                wide = jnp.pad(made, ((0, 0), (1, 1)))
                made = (wide[:, :-2] + 2 * made + wide[:, 2:]) * np.float32(0.25)
            case 1:
                wide = jnp.pad(made, ((1, 1), (0, 0)))
                made = (wide[:-2] + 2 * made + wide[2:]) * np.float32(0.25)
            case 2:
                made = made * np.float32(1.5) + np.float32(0.01)
            case _:
                made = jnp.clip(made, 0, 1)
    return made.reshape(-1)


WORK = {
    "breadth-first search": search,
    "PageRank": rank,
    "conjugate gradient": gradient,
    "k-means": means,
    "image pipeline": layers,
}
