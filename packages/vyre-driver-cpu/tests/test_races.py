"""Programs that look for their own races, on this CPU: the verdicts are those of the scalar detector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from random import Random

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import Trapped
from vyre_driver.observe.races import find_race
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, For, If, Stmt, Store
from vyre_foundation.ir.walk import program_expressions, statements, with_bodies
from vyre_foundation.ops import OPS
from vyre_foundation.testing import EVERYTHING, NARROW, STRUCTURED, GeneratedProgram, generate
from vyre_foundation.validate import InvalidProgram
from vyre_reference import DataRace, detect_races

GLOBAL, LOCAL = Id(IdKind.GLOBAL_ID, 0), Id(IdKind.LOCAL_ID, 0)


def racing(made: Program, rng: Random) -> Program:
    """The program with some indices, conditions and barriers changed, so that it may race."""
    size = sum(1 for _ in statements(made.body))
    chosen = {rng.randrange(size) for _ in range(rng.randint(1, 4))}
    numbers = count()

    def index() -> Expr:
        half = Apply(OPS["div"], GLOBAL, literal(u32, 2))
        return rng.choice((literal(u32, rng.randrange(6)), LOCAL, Id(IdKind.WORKGROUP_ID, 0), half))

    def change(body: Body) -> Iterator[Stmt]:
        for stmt in body:
            is_chosen = next(numbers) in chosen
            stmt = with_bodies(stmt, lambda inner: tuple(change(inner)))
            match stmt:
                case Barrier() if is_chosen:
                    pass
                case Store() | Atomic() if is_chosen:
                    yield replace(stmt, index=index())
                case If() | For() if is_chosen:
                    yield If(Apply(OPS["lt"], index(), index()), (stmt,))
                case _:
                    yield stmt

    return replace(made, body=tuple(change(made.body)))


def small_programs(first: int) -> Iterator[GeneratedProgram]:
    """Programs of few expressions, because a program that looks for races is many times as long."""
    for seed in count(first):
        made = generate(seed, (EVERYTHING, STRUCTURED, NARROW)[seed % 3])
        if len(program_expressions(made.program)) < 160:
            yield made


@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 16))])
def test_the_scalar_detector_agrees_about_random_programs(number: int, backend: VyreBackend) -> None:
    """Few, because a program that looks for races is compiled for seconds."""
    made = next(islice(small_programs(5_000 + number // 2 * 150), number % 2, None))
    verdicts: set[bool] = set()
    for changed in (made.program, racing(made.program, Random(made.seed)), racing(made.program, Random(~made.seed))):
        try:
            changed.validate()
        except InvalidProgram:
            continue
        arrays = {b.name: np.frombuffer(made.inputs[b.name], b.dtype.numpy) for b in changed.inputs}
        config = DispatchConfig(grid_override=made.grid, fixpoint_iterations=made.iterations)
        found = find_race(backend, changed, arrays, config)
        assert (found is not None) is races(changed, arrays, config), f"seed {made.seed}: {found}"
        assert found is None or found.accesses is not None
        verdicts.add(found is not None)
    assert False in verdicts


def races(changed: Program, arrays: dict[str, np.ndarray], config: DispatchConfig) -> bool:
    try:
        detect_races(changed, arrays, config)
    except DataRace:
        return True
    except Trapped:
        pass
    return False


def neighbours(*, repaired: bool) -> Program:
    """One pair of the whole launch races: the last invocation of a workgroup and the first of the next one."""
    with program("neighbours", 64) as p:
        x, out = p.read("x", u32), p.read_write("out", u32)
        i = p.global_id(0)
        with p.if_(x[i] == 1):
            out[i + (0 if repaired else 1)] = 1
        with p.if_(x[i] == 2):
            out[i] = 2
    return p.build()


@pytest.mark.parametrize("where", [63, 500_031, 1_048_574])
def test_one_race_among_a_million_invocations_is_found(where: int, backend: VyreBackend) -> None:
    """On the threads of the pool, wherever it is."""
    size = 1 << 20
    x = np.zeros(size, np.uint32)
    x[where], x[where + 1] = 1, 2
    arrays = {"x": x, "out": np.zeros(size, np.uint32)}
    config = DispatchConfig(grid_override=(size // 64, 1, 1))
    found = find_race(backend, neighbours(repaired=False), arrays, config)
    assert found is not None
    assert (found.buffer, found.index) == ("out", where + 1)
    assert found.accesses is not None
    assert {access.invocation for access in found.accesses} == {where, where + 1}
    assert find_race(backend, neighbours(repaired=True), arrays, config) is None


@pytest.mark.parametrize("writer", [0, 77_777, 262_143])
def test_a_write_among_atomics_and_reads_of_all_is_found(writer: int, backend: VyreBackend) -> None:
    """Every invocation updates one element and reads another; one of them writes them both."""

    def crowded(*, repaired: bool) -> Program:
        with program("crowded", 64) as p:
            out, seen = p.read_write("out", u32, 2), p.write("seen", u32, 1 << 18)
            i = p.global_id(0)
            out.atomic_add(0, 1)
            seen[i] = out[1]
            if repaired:
                p.grid_barrier()
            with p.if_(i == writer):
                out[0] = 5
                out[1] = 6
        return p.build()

    arrays = {"out": np.zeros(2, np.uint32)}
    found = find_race(backend, crowded(repaired=False), arrays)
    assert found is not None
    assert (found.buffer, found.index) == ("out", 0)
    assert found.accesses is not None
    assert writer in {access.invocation for access in found.accesses}
    assert find_race(backend, crowded(repaired=True), arrays) is None
