"""Programs from seeds: valid, terminating, and free of races by construction, with inputs that hit the edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import IndirectDispatch, Let, Stmt, Store
from vyre_foundation.ops import OPS
from vyre_foundation.testing import digest
from vyre_foundation.testing.declarations import Declarations
from vyre_foundation.testing.emitter import GeneratorContext
from vyre_foundation.testing.profile import DEFAULT, Profile
from vyre_foundation.testing.scope import GID, GROUP, LID, SID
from vyre_foundation.validate.facts import Uniformity


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedProgram:
    """A program and one launch of it that is free of races.

    `inputs` has the bytes of every input by name. `grid` is the `grid_override` to launch with (None: inferred), and
    `iterations` the number of fixpoint iterations. Under another grid the program may race.
    """

    seed: int
    program: Program
    inputs: Mapping[str, bytes]
    grid: tuple[int, int, int] | None
    iterations: int


def generate(seed: int, profile: Profile = DEFAULT) -> GeneratedProgram:
    """The program of a seed. The same seed and profile give the same program in every process."""
    return _Generator(Random(seed), profile).run(seed)


class _Generator(Declarations):
    """The body of the program."""

    def run(self, seed: int) -> GeneratedProgram:
        self.declare_inputs()
        self.declare_outputs()
        self.declare_sums()
        self.declare_device_memory()
        body = self._body()
        program = Program(f"random_{seed}", self.ordered(), self.workgroup, body, self.subgroup_size)
        iterations = self.rng.randint(2, 3) if self.profile.iterations and self.rng.random() < 0.1 else 1
        grid = None if self.is_inferred or self.indirect else self.grid
        return GeneratedProgram(seed=seed, program=program, inputs=self.inputs, grid=grid, iterations=iterations)

    def _body(self) -> tuple[Stmt, ...]:
        stmts, place = self.stmts, GeneratorContext()
        stmts.grid_barriers = self.profile.grid_barriers and self.rng.random() < 0.2
        prologue = self._prologue()
        size = self.profile.max_statements
        shared = stmts.body(place, self.rng.randint(size // 4, size // 2))
        stmts.tail = True
        self.scope.flow = Uniformity.NONE
        stmts.budget = max(stmts.budget, size // 4)
        alone = stmts.body(place, self.rng.randint(2, max(2, size // 5)))
        return (*prologue, *shared, *alone, *self._epilogue())

    def _prologue(self) -> list[Stmt]:
        """The numbers of the invocation, its place in the group, and its group."""
        begin: list[Stmt] = [IndirectDispatch(self.words, self.words_offset)] if self.indirect else []
        x, y, _ = self.workgroup
        rows, slices = _mul(_id(IdKind.NUM_WORKGROUPS, 0), x), _mul(_id(IdKind.NUM_WORKGROUPS, 1), y)
        values = {
            GID: _linear(IdKind.GLOBAL_ID, rows, slices),
            LID: _linear(IdKind.LOCAL_ID, literal(u32, x), literal(u32, y)),
            GROUP: _linear(IdKind.WORKGROUP_ID, _id(IdKind.NUM_WORKGROUPS, 0), _id(IdKind.NUM_WORKGROUPS, 1)),
            SID: Apply(OPS["add"], Apply(OPS["mul"], GROUP, literal(u32, self.volume)), LID),
        }
        for local in values:
            self.scope.declare(local.name, u32, Uniformity.WORKGROUP if local is GROUP else Uniformity.NONE)
        lets = [Let(local.name, value) for local, value in values.items()]
        if not self.profile.digest:
            return [*begin, *lets]
        self.scope.declare(digest.DIGEST.name, u32, Uniformity.NONE)
        return [*begin, *lets, digest.begin()]

    def _epilogue(self) -> list[Stmt]:
        """What was computed is shown in every output that can still be written."""
        shown = [digest.show(v.local) for v in self.scope.variables if v.mutable] if self.profile.digest else []
        values = [
            Store(s.buffer, s.own(slot), self.exprs.expr(s.buffer.dtype))
            for s in self.scope.writable()
            if s.buffer.is_output
            for slot in range(s.slots)
        ]
        return [*shown, *self.stmts.last_words(), *values]


def _id(kind: IdKind, axis: int) -> Expr:
    return Id(kind, axis)


def _mul(x: Expr, factor: int) -> Expr:
    return x if factor == 1 else Apply(OPS["mul"], x, literal(u32, factor))


def _linear(kind: IdKind, row: Expr, plane: Expr) -> Expr:
    """``(z * plane + y) * row + x`` of an id."""
    x, y, z = (Id(kind, axis) for axis in range(3))
    return Apply(OPS["add"], Apply(OPS["mul"], Apply(OPS["add"], Apply(OPS["mul"], z, plane), y), row), x)
