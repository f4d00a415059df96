"""Fixpoint iterations: the program runs several times over the same memory."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import u32


def specs() -> Iterator[Spec]:
    for count in (1, 2, 5):
        yield fixed(address("iterations", "memory_is_kept", n=count), _persistent, count)
    yield seeded(address("iterations", "reachability"), _reachability)
    yield fixed(address("iterations", "with_grid_barriers"), _with_barriers)


def _persistent(count: int) -> tuple[Launch, Expected]:
    """Storage and scratch keep their contents, written outputs are zeroed once, workgroup memory at each start."""
    with program(f"kept_{count}", 8) as p:
        both, fresh = p.read_write("both", u32), p.write("fresh", u32, 20)
        scratch, shared = p.scratch("scratch", u32, 24), p.workgroup("shared", u32, 8)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        shared[local] = shared[local] + 1
        scratch[i] = scratch[i] + 10
        both[i] = both[i] * 2 + shared[local]
        with p.if_(scratch[i] == 10):
            fresh[i] = i + 1
    values = list(range(20))
    for _ in range(count):
        values = [v * 2 + 1 for v in values]
    launch = Launch(program=p.build(), inputs={"both": pack(u32, range(20))}, iterations=count)
    return launch, Exactly((pack(u32, values), pack(u32, range(1, 21))))


def _reachability(rng: Random) -> tuple[Launch, Expected]:
    """Nodes reachable from node 0 over at most six edges; each round reads the last round's marks."""
    nodes = 40
    edges = [(n, rng.randrange(nodes)) for n in range(nodes) for _ in range(2)]
    with program("reachability", 8) as p:
        heads = p.read("heads", u32)
        now, then = p.read_write("now", u32), p.read_write("then", u32)
        turn = p.read_write("turn", u32)
        i = p.let(p.global_id(0))
        even = p.let(turn[i] % 2 == 0)
        with p.if_(even):
            then[i] = now[i]
        with p.else_():
            now[i] = then[i]
        mark = p.var(0, u32)
        with p.range(0, 2) as k:
            source = p.let(heads[i * 2 + k])
            with p.if_(even):
                mark.set(mark | now[source])
            with p.else_():
                mark.set(mark | then[source])
        with p.if_(mark != 0):
            with p.if_(even):
                then[i] = 1
            with p.else_():
                now[i] = 1
        turn[i] = turn[i] + 1
    reached = [int(n == 0) for n in range(nodes)]
    history = [reached]
    for _ in range(6):
        reached = [int(reached[n] or any(reached[s] for m, s in edges if m == n)) for n in range(nodes)]
        history.append(reached)
    inputs = {
        "heads": pack(u32, [source for _, source in edges]),
        "now": pack(u32, history[0]), "then": bytes(4 * nodes), "turn": bytes(4 * nodes),
    }  # fmt: skip
    outputs = (pack(u32, history[6]), pack(u32, history[5]), pack(u32, [6] * nodes))
    return Launch(program=p.build(), inputs=inputs, grid=(5, 1, 1), iterations=6), Exactly(outputs)


def _with_barriers() -> tuple[Launch, Expected]:
    with program("iterations_with_barriers", 8) as p:
        cells, other = p.read_write("cells", u32), p.scratch("other", u32, 24)
        i = p.let(p.global_id(0))
        other[i] = cells[i] * 3 + 1
        p.grid_barrier()
        cells[i] = other[(i + 5) % 24]
    values = list(range(24))
    for _ in range(3):
        values = [values[(n + 5) % 24] * 3 + 1 for n in range(24)]
    launch = Launch(program=p.build(), inputs={"cells": pack(u32, range(24))}, iterations=3)
    return launch, Exactly((pack(u32, values),))
