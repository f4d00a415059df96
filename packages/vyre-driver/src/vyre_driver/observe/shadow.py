"""Shadowing: dispatches also run on a second backend, and their results are compared.

Callers receive the results of the primary backend, even if the reference fails. A difference is an event, which is
raised, stored, or passed to a callback, and is written as a capsule if a folder is given.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs, borrowed_input_slices
from vyre_driver.errors import BackendError, ShadowDiverged, Trapped
from vyre_driver.observe.capsule import Capsule, write_capsule
from vyre_driver.observe.compare import Mismatch, first_mismatch
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program
from vyre_foundation.locks import ForkGuard


class OnDivergence(Enum):
    """What happens with a difference, besides being stored in `Shadow.events`."""

    RAISE = "raise"
    RECORD = "record"


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergenceEvent:
    """One dispatch whose results differ. `number` counts the dispatches of the shadow from 0.

    `is_proven`: validation has proven that the results do not depend on the order of execution. Otherwise the program
    itself may cause the difference, and it is not raised.
    """

    number: int
    program: str
    fingerprint: str
    label: str
    primary: str
    reference: str
    difference: str
    mismatch: Mismatch | None
    is_proven: bool
    capsule: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowPolicy:
    """Which dispatches are compared, and what happens with a difference.

    One dispatch in `every` is compared, from the first on; 0 compares none. `capsules` is the folder for capsules. The
    last `max_events` events are stored.
    """

    every: int = 1
    on_divergence: OnDivergence | Callable[[DivergenceEvent], None] = OnDivergence.RAISE
    capsules: Path | None = None
    max_events: int = 64


@dataclass(slots=True)
class ShadowCounts:
    """The counts of a shadow. `unwatched` are calls over resident memory, which the reference cannot read."""

    dispatches: int = 0
    compared: int = 0
    diverged: int = 0
    reference_failed: int = 0
    unwatched: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a dispatch ended: with outputs, or with a trap."""

    outputs: Outputs
    trap: Trapped | None = None

    def __str__(self) -> str:
        return f"{len(self.outputs)} outputs" if self.trap is None else self.trap.message


ResultT = TypeVar("ResultT")
Run: TypeAlias = Callable[[Inputs, DispatchConfig], Outputs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadowed:
    """A program with its primary backend, and the function that runs it on the reference."""

    program: Program
    primary: str
    primary_version: str
    reference: str
    run_reference: Run


class Shadow:
    """The comparison of all dispatches that share a policy. It may be used from several threads."""

    def __init__(self, policy: ShadowPolicy | None = None) -> None:
        self.policy = policy or ShadowPolicy()
        self.counts = ShadowCounts()
        self.events: deque[DivergenceEvent] = deque(maxlen=self.policy.max_events)
        self._guard = ForkGuard()

    def watch(
        self,
        what: Shadowed,
        inputs: Inputs,
        config: DispatchConfig,
        run: Callable[[], ResultT],
        outputs_of: Callable[[ResultT], Sequence[Any]],
    ) -> ResultT:
        """Return the result of `run` on the primary. The outputs are compared if the policy selects this dispatch."""
        judge = self.begin(what, inputs, config)
        try:
            result = run()
        except Trapped as trap:
            judge(Ended([], trap))
            raise
        judge(Ended(borrowed_input_slices(outputs_of(result))))
        return result

    def begin(self, what: Shadowed, inputs: Inputs, config: DispatchConfig) -> Callable[[Ended], None]:
        """Copy the inputs, which may share memory with outputs, and return a function that compares the dispatch."""
        with self._guard.lock:
            number = self.counts.dispatches
            self.counts.dispatches += 1
        is_due = self.policy.every > 0 and number % self.policy.every == 0
        keeps = any(buffer.memory is Memory.PERSISTENT for buffer in what.program.buffers)
        if not is_due and not (keeps and self.policy.every):
            return lambda ended: None
        given = [bytes(view) for view in borrowed_input_slices(inputs)]

        def judge(ended: Ended) -> None:
            expected = self._reference(what, given, config)
            if is_due and expected is not None:
                self._judge(what, given, config, number, ended, expected)

        return judge

    def pass_by(self) -> None:
        """Count a call that cannot be compared."""
        with self._guard.lock:
            self.counts.unwatched += 1

    def _reference(self, what: Shadowed, given: list[bytes], config: DispatchConfig) -> Ended | None:
        """What the reference says, or None if it fails: that is said in the log, and hides nothing."""
        try:
            return Ended(what.run_reference(given, config.replace(timeout=None, profile=None)))
        except Trapped as trap:
            return Ended([], trap)
        except BackendError as error:
            with self._guard.lock:
                self.counts.reference_failed += 1
            log = logging.getLogger("vyre.shadow")
            log.warning("%s cannot judge %r: %s", what.reference, what.program.name, error)
            return None

    def _judge(
        self,
        what: Shadowed,
        given: list[bytes],
        config: DispatchConfig,
        number: int,
        ended: Ended,
        expected: Ended,
    ) -> None:
        difference = _difference(what.program, config, ended, expected)
        with self._guard.lock:
            self.counts.compared += 1
            self.counts.diverged += difference is not None
        if difference is None:
            return
        event = DivergenceEvent(
            number=number,
            program=what.program.name,
            fingerprint=what.program.fingerprint(),
            label=config.label or "",
            primary=what.primary,
            reference=what.reference,
            difference=str(difference),
            mismatch=difference if isinstance(difference, Mismatch) else None,
            is_proven=what.program.validate().determinism.is_deterministic,
            capsule=self._capsule(what, given, config, str(difference), ended, expected),
        )
        with self._guard.lock:
            self.events.append(event)
        self._tell(event)

    def _capsule(
        self,
        what: Shadowed,
        given: list[bytes],
        config: DispatchConfig,
        difference: str,
        ended: Ended,
        expected: Ended,
    ) -> Path | None:
        if self.policy.capsules is None:
            return None
        program = what.program
        capsule = Capsule(
            program=program,
            inputs={buffer.name: data for buffer, data in zip(program.inputs, given, strict=True)},
            config=config.replace(timeout=None, profile=None),
            backend=what.primary,
            backend_version=what.primary_version,
            reference=what.reference,
            difference=difference,
            outputs=_by_name(program, ended),
            reference_outputs=_by_name(program, expected),
        )
        try:
            return write_capsule(self.policy.capsules, capsule)
        except OSError as error:  # the difference is what counts
            fix = "name a folder that can be written"
            logging.getLogger("vyre.shadow").error("the capsule cannot be written: %s. Fix: %s", error, fix)
            return None

    def _tell(self, event: DivergenceEvent) -> None:
        kind = "" if event.is_proven else " (its determinism is not proven)"
        place = "" if event.capsule is None else f", capsule {event.capsule}"
        logging.getLogger("vyre.shadow").error(
            "%s does not agree with %s on %r%s: %s%s",
            event.primary, event.reference, event.program, kind, event.difference, place,
        )  # fmt: skip
        match self.policy.on_divergence:
            case OnDivergence.RAISE if event.is_proven:
                raise ShadowDiverged(
                    event.primary,
                    event.reference,
                    event.difference,
                    capsule=str(event.capsule or ""),
                    where=f"program {event.program!r}",
                )
            case OnDivergence():
                pass
            case callback:
                callback(event)


def _difference(program: Program, config: DispatchConfig, got: Ended, expected: Ended) -> Mismatch | str | None:
    """How two ends differ: in their traps, or in their outputs."""
    if got.trap is None and expected.trap is None:
        return first_mismatch(program, got.outputs, expected.outputs, config.ulp_budget)
    same = got.trap is not None and expected.trap is not None and _facts(got.trap) == _facts(expected.trap)
    return None if same else f"got {got}, expected {expected}"


def _facts(trap: Trapped) -> tuple[str, int, int]:
    return trap.tag, trap.trap_code, trap.invocation


def _by_name(program: Program, ended: Ended) -> dict[str, bytes]:
    if ended.trap is not None or len(ended.outputs) != len(program.outputs):
        return {}
    return {buffer.name: bytes(view) for buffer, view in zip(program.outputs, ended.outputs, strict=True)}
