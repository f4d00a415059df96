"""The result of legalization: kernels that a target can spell, and the order in which the host launches them.

Every kernel is a Program, so the reference can execute it. The schedule is data for the engine and for tests. A program
without grid barriers has one kernel and one `KernelLaunch`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vyre_driver.legalization.schedule import Step
from vyre_driver.legalization.target import Arrangement
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let

if TYPE_CHECKING:
    from vyre_driver.legalization.text_forms import CallForm
    from vyre_foundation.dialects.lowering import TextModule

RARE = "__rare"
"""The label of a region that few workgroups come to: it is not worth much work of a compiler."""

RARELY = "__rarely"
"""The label of a region that hardly any invocation comes to."""

ITEMS = Arrangement(as_loops=False)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a lowered program.

    `program.buffers` has the bound buffers that the kernel accesses in argument order (their binding numbers are the
    positions 0, 1, …), and then its constant, workgroup and private buffers. `lengths` names the buffers whose lengths
    the kernel reads: each is a u32 argument after the buffers, in this order. `arrangement` states how workgroups run.
    """

    name: str
    program: Program
    lengths: tuple[str, ...]
    arrangement: Arrangement = ITEMS


@dataclass(frozen=True, slots=True)
class LoweredFunction:
    """The function that calls of a rare op execute.

    The last statement of `program`, which touches no memory, is the `let` of the result.
    """

    parameters: tuple[Local, ...]
    program: Program

    @property
    def result(self) -> Local:
        """The local of the result, which the last statement declares."""
        last = self.program.body[-1]
        assert isinstance(last, Let)
        return Local(last.name, last.value.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A program as kernels, and the order in which the host launches them.

    `source` is the validated program. `buffers` has all bound buffers of the kernels by name: those of the source, and
    those that lowering added (scratch memory for values that are live across a grid barrier, `TRAPS`, `COUNTERS`,
    `RUNS`). `traps` has the tags of the trap statements in program order. `texts` defines the remaining calls with
    source in the target's language, and `functions` the remaining calls of rare ops.
    """

    source: Program
    kernels: tuple[Kernel, ...]
    schedule: tuple[Step, ...]
    buffers: Mapping[str, Buffer]
    traps: tuple[str, ...] = ()
    texts: Mapping[CallForm, TextModule] = field(default_factory=dict)
    functions: Mapping[CallForm, LoweredFunction] = field(default_factory=dict)


def joined(parts: Sequence[Lowered]) -> Lowered:
    """The kernels of all `parts` in order, to be printed as one unit: how they are launched stays with the parts."""
    return Lowered(
        source=parts[0].source,
        kernels=tuple(kernel for part in parts for kernel in part.kernels),
        schedule=(),
        buffers={},
        texts={form: text for part in parts for form, text in part.texts.items()},
        functions={form: function for part in parts for form, function in part.functions.items()},
    )
