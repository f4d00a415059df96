"""Random statements: every place knows which of them are legal there."""

from __future__ import annotations

from collections.abc import Callable

from vyre_foundation.testing.blocks import Blocks
from vyre_foundation.testing.emitter import GeneratorContext
from vyre_foundation.testing.expressions import WORKGROUP

_MAX_ITERATIONS = 48
"""Product of the trip counts of all loops around a statement."""


class Statements(Blocks):
    """Chooses among all statements."""

    def statement(self, place: GeneratorContext) -> None:
        """One random statement, or a simple one where the budget is spent."""
        self.budget -= 1
        choices = self._choices(place)
        kinds, weights = zip(*choices, strict=True)
        self.rng.choices(kinds, weights)[0](place)

    def _choices(self, place: GeneratorContext) -> list[tuple[Callable[[GeneratorContext], None], int]]:
        profile, is_uniform = self.profile, self.scope.flow.value >= WORKGROUP.value and not self.tail
        nests = self.budget > 0 and place.nesting < profile.max_nesting
        choices: list[tuple[Callable[[GeneratorContext], None], int]] = [(self.let, 6), (self.var, 2), (self.store, 6)]
        # fmt: off
        optional: list[tuple[bool, Callable[[GeneratorContext], None], int]] = [
            (bool(self.scope.assignable()),                                self.assign,       4),
            (bool(self.scope.assignable()) and place.iterations > 1,       self.accumulate,   6),
            (bool(self.scope.private),                                     self.store_private, 3),
            (profile.branches and nests,                                   self.branch,       4),
            (profile.loops and nests and place.iterations < _MAX_ITERATIONS, self.loop,         4),
            (profile.regions and nests,                                    self.region,       1),
            (profile.atomics,                                              self.atomic,       4),
            (profile.traps,                                                self.trap,         1),
            (profile.barriers and is_uniform,                                self.barrier,      4),
            (self.subgroup_size is not None and is_uniform,                  self.subgroup,     6),
            (self.grid_barriers and place.at_top and not self.tail,        self.grid_barrier, 3),
            (place.in_loop,                                                 self.leave_loop,   2),
            (profile.returns and self._may_return(is_uniform),               self.leave,        1),
        ]
        # fmt: on
        return choices + [(kind, weight) for legal, kind, weight in optional if legal]

    def _may_return(self, is_uniform: bool) -> bool:
        return self.tail or (is_uniform and not self.grid_barriers)
