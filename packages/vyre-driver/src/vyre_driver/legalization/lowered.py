"""What legalization gives: kernels that a target can spell, and the order in which the host launches them.

Every kernel is a Program, so the reference can execute each of them; the schedule is data that the engine and the tests
walk alike. A program without grid barriers has one kernel and one `KernelLaunch`.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    """One launchable piece of a lowered program.

    `program.buffers` are the bound buffers it touches, in argument order (their binding numbers are positions 0, 1, …),
    then its constant, workgroup and private ones. `lengths` names the buffers whose element count the kernel reads:
    each is one more u32 argument, in this order, after the buffers. `arrangement` says how its workgroups run.
    """

    name: str
    program: Program
    lengths: tuple[str, ...]
    arrangement: Arrangement = ITEMS


@dataclass(frozen=True, slots=True)
class LoweredFunction:
    """What calls of a rare op are composed of.

    The last statement of `program`, which touches no memory, is the `let` of the result.
    """

    parameters: tuple[Local, ...]
    program: Program

    @property
    def result(self) -> Local:
        """The local that the last statement binds."""
        last = self.program.body[-1]
        assert isinstance(last, Let)
        return Local(last.name, last.value.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A program as kernels, and the order in which the host launches them.

    `source` is the validated program. `buffers` are all bound buffers of the kernels by name, the source's and those
    that lowering added (scratch for what lives across a grid barrier, `TRAPS`, `COUNTERS`, `RUNS`). `traps` are the
    tags of the trap statements in program order. `texts` define the calls that are left for the target's own language,
    and `functions` those that are left because they are rare.
    """

    source: Program
    kernels: tuple[Kernel, ...]
    schedule: tuple[Step, ...]
    buffers: Mapping[str, Buffer]
    traps: tuple[str, ...] = ()
    texts: Mapping[CallForm, TextModule] = field(default_factory=dict)
    functions: Mapping[CallForm, LoweredFunction] = field(default_factory=dict)
