"""What validation says of a program holds in every evaluation: uniformity, bounds, barriers, determinism.

Programs are random: those of the generator, the same with statements changed until many race or diverge, and small
kernels of index arithmetic. Where validation accepts a barrier, the evaluator finds nobody missing; where it calls a
program deterministic, the race detector stays silent; and every value is within the bounds and the levels of the facts.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count, islice
from math import prod
from random import Random

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import Trapped
from vyre_foundation.build import Array, ProgramBuilder, Value, apply, constant, program as building
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, Break, Continue, For, If, Return, Stmt, Store, Subgroup, Trap
from vyre_foundation.ir.walk import postorder, program_expressions, statements, with_bodies
from vyre_foundation.ops import OPS
from vyre_foundation.testing import EVERYTHING, NARROW, STRUCTURED, GeneratedProgram, generate
from vyre_foundation.validate import Facts, InvalidProgram, Uniformity, validate
from vyre_reference import DataRace, scalar
from vyre_reference.launch import launch
from vyre_reference.scalar import invocation
from vyre_reference.scalar.races import Races

# ── the oracle ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Recorder:
    """Stands in for `evaluate`: looks at the value of every expression, whenever it is evaluated."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.evaluate = invocation.evaluate
        self.shared: dict[object, object] = {}

    def __call__(self, root: Expr, at: invocation.Invocation) -> object:
        for node in postorder((root,)):
            value = self.evaluate(node, at)
            bounds = self.facts.ranges.get(node)
            assert bounds is None or bounds.low <= value <= bounds.high, f"{node} is {value}, not within {bounds}"
            self.compare(node, at, "NaN" if value != value else value)
        return self.evaluate(root, at)

    def compare(self, node: Expr, at: invocation.Invocation, value: object) -> None:
        """The value is that of the others who come to this place in this iteration, as far as the level goes."""
        level = self.facts.uniformity[node]
        place = node, at.path, tuple(at.iterations)
        if level is not Uniformity.NONE:
            group = None if level.value >= Uniformity.GRID.value else at.position.group
            assert self.shared.setdefault((place, group), value) == value, f"{node} is not the same at {at.path}"


def verdict(made: Program, inputs: dict[str, bytes], grid: tuple[int, int, int] | None) -> str:
    """What came of it: invalid, proven, not proven or races. An evaluation that contradicts the facts raises."""
    try:
        facts = validate(made)
    except InvalidProgram:
        return "invalid"
    recorder = Recorder(facts)
    given = [memoryview(inputs[b.name]) for b in made.inputs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(invocation, "evaluate", recorder)
        try:
            with suppress(Trapped):
                launch(made, given, DispatchConfig(grid_override=grid), detecting)
        except DataRace:
            if facts.determinism.is_deterministic:
                raise
            return "races"
    return "proven" if facts.determinism.is_deterministic else "not proven"


def detecting(plan, memory, *, budget=None):
    scalar.evaluate(plan, memory, races=Races.DETECT, budget=budget)


# ── changed programs ─────────────────────────────────────────────────────────────────────────────────────────────────

GID, LID = Id(IdKind.GLOBAL_ID, 0), Id(IdKind.LOCAL_ID, 0)


def index(rng: Random) -> Expr:
    plus, half = Apply(OPS["add"], GID, literal(u32, 1)), Apply(OPS["div"], GID, literal(u32, 2))
    return rng.choice((literal(u32, rng.randrange(6)), GID, LID, Id(IdKind.WORKGROUP_ID, 0), plus, half))


def condition(rng: Random) -> Expr:
    return Apply(OPS[rng.choice(("eq", "lt", "ge", "ne"))], index(rng), index(rng))


def changed(made: Program, rng: Random) -> Program:
    """The program with up to four statements moved under a condition, indexed otherwise, dropped, or left early."""
    size = sum(1 for _ in statements(made.body))
    chosen = {rng.randrange(size) for _ in range(rng.randint(1, 4))}
    numbers = count()

    def change(body: Body, in_loop: bool) -> Iterator[Stmt]:
        for stmt in body:
            is_chosen = next(numbers) in chosen
            stmt = with_bodies(stmt, lambda inner, s=stmt: tuple(change(inner, in_loop or isinstance(s, For))))
            draw = rng.random()
            match stmt:
                case _ if not is_chosen:
                    yield stmt
                case Barrier() if draw < 0.7:
                    pass
                case Store() | Atomic() if draw < 0.5:
                    yield replace(stmt, index=index(rng))
                case If() if draw < 0.6:
                    yield replace(stmt, condition=condition(rng))
                case Store() | If() | For() | Barrier() | Trap() | Subgroup(result=None) if draw < 0.8:
                    yield If(condition(rng), (stmt,))
                case _:
                    yield If(condition(rng), (rng.choice((Return(), Break(), Continue())) if in_loop else Return(),))
                    yield stmt

    return replace(made, body=tuple(change(made.body, False)))


@pytest.mark.parametrize("block", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 5))])
def test_facts_hold_for_generated_and_changed_programs(block):
    seen: Counter[str] = Counter()
    for made in islice(small_programs(block * 1000), 5):
        rng = Random(made.seed)
        assert verdict(made.program, dict(made.inputs), made.grid) in ("proven", "not proven")
        for _ in range(3):
            seen[verdict(changed(made.program, rng), dict(made.inputs), made.grid)] += 1
    assert seen["invalid"] < 15  # else the test shows nothing


def small_programs(first: int) -> Iterator[GeneratedProgram]:
    """Generated programs with few expressions, because each is evaluated again for every one around it."""
    for seed in count(first):
        made = generate(seed, (EVERYTHING, STRUCTURED, NARROW)[seed % 3])
        if len(program_expressions(made.program)) < 400:
            yield made


# ── kernels of index arithmetic ──────────────────────────────────────────────────────────────────────────────────────


class Kernel:
    """A random kernel: stores, loads and atomics at sums of ids, under conditions, in loops, between barriers."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.size = rng.choice(((4, 1, 1), (8, 1, 1), (2, 2, 1), (4, 2, 1), (1, 1, 1), (3, 1, 1), (2, 1, 2)))
        self.volume = prod(self.size)
        self.axes = rng.choice((1, 1, 2))
        self.counters: list[Value] = []
        with building("kernel", self.size, 2 if self.volume % 2 == 0 else None) as self.p:
            self.source = self.p.read("source", u32)
            self.arrays = self.declare(self.p)
            self.ids = [
                f(axis) for f in (self.p.global_id, self.p.local_id, self.p.workgroup_id) for axis in range(self.axes)
            ]
            self.block(0, rng.choice((1, 2, 2, 3, 3, 4, 5)))
        self.program = self.p.build_unchecked()

    def declare(self, p: ProgramBuilder) -> list[Array]:
        shared = [p.workgroup(f"shared{n}", u32, self.rng.choice((8, 16, 64))) for n in range(2)]
        return [p.read_write("out", u32, 16), p.scratch("kept", u32, self.rng.choice((16, 64, 256))), *shared]

    def index(self) -> Value:
        rng, p = self.rng, self.p
        gid, lid = p.global_id(0), p.local_id(0)
        special = (
            lid ^ 1, gid // 2, gid % 4, lid >> 1, lid & 3, constant(u32, 15) - gid,
            p.workgroup_id(0) * self.volume + lid,
            p.global_id(1) * (p.num_workgroups(0) * self.size[0]) + gid if self.axes == 2 else gid,
            p.subgroup_lane() if self.program_has_lanes else lid,
        )  # fmt: skip
        if rng.random() < 0.15:
            return rng.choice(special)
        sum_ = rng.choice((gid, lid, *self.ids, *self.counters)) * rng.choice((1, 1, 1, 2, 3, 4, 8))
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            term = rng.choice((lid, *self.ids, *self.counters)) * rng.choice((1, 2, 3, 4, 8, 16, self.volume))
            sum_ = sum_ + term if rng.random() < 0.85 else sum_ - term
        if rng.random() < 0.4:
            sum_ = sum_ + rng.choice((1, 2, 3, 4, 8, 16, self.volume))
        return p.let(sum_) if rng.random() < 0.2 else sum_

    @property
    def program_has_lanes(self) -> bool:
        return self.volume % 2 == 0

    def condition(self) -> Value:
        rng, p = self.rng, self.p
        left = rng.choice((p.global_id(0), p.local_id(0), *self.ids, *self.counters, self.index()))
        right = rng.choice(
            (constant(u32, rng.choice((0, 1, 2, 3, 8))), self.source.length, self.source[0], *self.counters)
        )
        holds = apply(rng.choice(("lt", "eq", "le", "ge", "gt", "ne", "lt", "eq")), left, right)
        if rng.random() < 0.2:
            holds = apply(rng.choice(("and", "or")), holds, p.global_id(0) < 8)
        return p.let(holds) if rng.random() < 0.2 else holds

    def block(self, depth: int, count: int) -> None:
        for _ in range(count):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        rng, p = self.rng, self.p
        array = rng.choice(self.arrays)
        draw = rng.random()
        if draw < 0.35:
            array[self.index()] = self.source[self.index()]
        elif draw < 0.55:
            read = array[self.index()]
            rng.choice(self.arrays)[self.index()] = read
        elif draw < 0.64:
            old = rng.choice((array.atomic_add, array.atomic_max))(self.index(), 1)
            if rng.random() < 0.2:
                self.arrays[0][self.index()] = old
        elif draw < 0.78 and depth < 3:
            with p.if_(self.condition()):
                self.block(depth + 1, rng.randint(1, 2))
            with p.else_():
                self.block(depth + 1, rng.choice((0, 0, 1)))
        elif draw < 0.8:
            with p.if_(self.condition()):
                rng.choice((p.return_, p.break_, p.continue_) if self.counters else (p.return_,))()
        elif draw < 0.9 and depth < 3:
            self.loop(depth)
        else:
            (p.grid_barrier if depth == 0 and rng.random() < 0.2 else p.barrier)()

    def loop(self, depth: int) -> None:
        rng, lid = self.rng, self.p.local_id(0)
        start, stop, step = rng.choice(
            ((0, 3, 1), (1, 4, 2), (lid, 8, self.volume), (lid, lid + 2, 1), (lid * 2, lid * 2 + 2, 1))
        )
        with self.p.range(start, stop, step) as counter:
            self.counters.append(counter)
            self.block(depth + 1, rng.randint(1, 3))
            self.counters.pop()


@pytest.mark.parametrize("block", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 6))])
def test_facts_hold_for_kernels_of_index_arithmetic(block):
    seen: Counter[str] = Counter()
    for seed in range(block * 100, block * 100 + 100):
        rng = Random(seed)
        kernel = Kernel(rng)
        grid = (rng.choice((1, 2, 3)), rng.choice((1, 2)) if kernel.axes == 2 else 1, 1)
        with suppress(InvalidProgram):
            if 1 not in validate(kernel.program).determinism.axes:
                grid = (grid[0], 1, 1)  # the verdict is for grids along the axes that the program asks about
        inputs = {"source": np.arange(rng.choice((1, 4, 9)), dtype=np.uint32).tobytes(), "out": bytes(64)}
        seen[verdict(kernel.program, inputs, grid)] += 1
    assert seen["proven"] >= 5
    assert seen["races"] >= 20
