"""Gates, by which an operator restricts the programs of others.

A gate allows or denies a valid program by its facts, and states a reason and a remedy. A gated backend checks before
anything is compiled or dispatched, in every method of the contract that takes a program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingBackend, contract_methods, programs_of, takes_programs
from vyre_driver.backend.results import Inputs
from vyre_driver.errors import InvalidInput, InvalidLaunch, OutputLimitExceeded, PolicyDenied
from vyre_driver.plan.determinism import launch_determinism
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch, validated
from vyre_driver.plan.lengths import bind_inputs
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Call
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.validate.facts import Determinism, Facts, Feature


@dataclass(frozen=True, slots=True)
class EnforceVerdict:
    """The verdict of a gate. `policy` names the gate that denied, `detail` is the reason, and `fix` the remedy."""

    is_allowed: bool
    policy: str = ""
    detail: str = ""
    fix: str = ""

    @classmethod
    def allow(cls) -> EnforceVerdict:
        """Return the verdict that the program may run."""
        return cls(True)

    @classmethod
    def deny(cls, policy: str, detail: str, fix: str) -> EnforceVerdict:
        """Return the verdict that the program may not run. The arguments become those of `PolicyDenied`."""
        return cls(False, policy, detail, fix)


class EnforceGate(ABC):
    """A rule of an operator that allows or denies programs."""

    @abstractmethod
    def name(self) -> str:
        """The name of the policy, for reports."""

    @abstractmethod
    def evaluate(self, facts: Facts) -> EnforceVerdict:
        """Return whether the program with these facts may run. Equal facts must have equal verdicts."""

    def evaluate_launch(self, plan: LaunchPlan, inputs: Sequence[memoryview]) -> EnforceVerdict:
        """Return whether a launch over `inputs` may run. It is called only if the program may not.

        By default the verdict is that on the program. A gate that considers the grid or the inputs overrides this.
        """
        return self.evaluate(plan.facts)


class Chain(EnforceGate):
    """A sequence of gates, of which the first one that denies decides."""

    def __init__(self, *gates: EnforceGate) -> None:
        self.gates = gates

    def name(self) -> str:
        """The names of all gates, separated by commas."""
        return ", ".join(gate.name() for gate in self.gates)

    def evaluate(self, facts: Facts) -> EnforceVerdict:
        """Return the verdict of the first gate that denies. Later gates are not evaluated."""
        for gate in self.gates:
            verdict = gate.evaluate(facts)
            if not verdict.is_allowed:
                return verdict
        return EnforceVerdict.allow()

    def evaluate_launch(self, plan: LaunchPlan, inputs: Sequence[memoryview]) -> EnforceVerdict:
        """Return the verdict on a launch as `evaluate`."""
        verdicts = (gate.evaluate_launch(plan, inputs) for gate in self.gates)
        return next((verdict for verdict in verdicts if not verdict.is_allowed), EnforceVerdict.allow())


class AllowedOps(EnforceGate):
    """A gate that allows only these ops, of the language and of dialects. The id of a dialect allows all of its ops."""

    def __init__(self, ops: Collection[str]) -> None:
        self._ops = frozenset(ops)

    def name(self) -> str:
        """See `EnforceGate.name`."""
        return "allowed ops"

    def evaluate(self, facts: Facts) -> EnforceVerdict:
        """Deny a program that uses another op; `detail` lists all such ops."""
        nodes = program_expressions(facts.program)
        used = {node.op.id for node in nodes if isinstance(node, Apply)}
        called = {node.callee for node in nodes if isinstance(node, Call)}
        refused = sorted((used - self._ops) | {c for c in called if not {c, c.partition(".")[0]} & self._ops})
        if not refused:
            return EnforceVerdict.allow()
        return EnforceVerdict.deny(self.name(), f"it uses {', '.join(refused)}", "use other ops, or have them allowed")


class DeniedFeatures(EnforceGate):
    """A gate that denies features, such as traps or persistent memory."""

    def __init__(self, *features: Feature) -> None:
        self._features = frozenset(features)

    def name(self) -> str:
        """See `EnforceGate.name`."""
        return "denied features"

    def evaluate(self, facts: Facts) -> EnforceVerdict:
        """Deny a program that needs one of the features; `detail` lists all that it needs."""
        refused = sorted(feature.value for feature in facts.features & self._features)
        if not refused:
            return EnforceVerdict.allow()
        return EnforceVerdict.deny(self.name(), f"it needs {', '.join(refused)}", "write the program without them")


class ProvenDeterminism(EnforceGate):
    """A gate that allows only programs whose results are proven to be independent of the order of execution.

    Of other programs, it allows launches for which this is proven with their grid, lengths and uniform values.
    """

    def name(self) -> str:
        """See `EnforceGate.name`."""
        return "proven determinism"

    def evaluate(self, facts: Facts) -> EnforceVerdict:
        """Deny a program without the proof. `detail` and `fix` are those of the first reason against determinism."""
        return self._verdict(facts.determinism)

    def evaluate_launch(self, plan: LaunchPlan, inputs: Sequence[memoryview]) -> EnforceVerdict:
        """Evaluate a launch as `evaluate`, by a proof with the grid, the lengths and the uniform values."""
        return self._verdict(launch_determinism(plan, inputs))

    def _verdict(self, determinism: Determinism) -> EnforceVerdict:
        if determinism.is_deterministic:
            return EnforceVerdict.allow()
        first = determinism.reasons[0]
        return EnforceVerdict.deny(self.name(), f"{first.code} at {first.where}: {first.message}", first.fix)


class MaxDeclaredBytes(EnforceGate):
    """A gate with a limit for declared memory in bytes. Host buffers without a declared length are not counted."""

    def __init__(self, most: int) -> None:
        self._most = most

    def name(self) -> str:
        """See `EnforceGate.name`."""
        return "declared memory"

    def evaluate(self, facts: Facts) -> EnforceVerdict:
        """Deny a program whose declarations exceed the limit. Constant memory is not counted."""
        buffers = (b for b in facts.program.buffers if b.memory is not Memory.CONSTANT)
        total = sum(b.count * b.dtype.size for b in buffers if isinstance(b.count, int))
        if total <= self._most:
            return EnforceVerdict.allow()
        return EnforceVerdict.deny(self.name(), f"it declares {total} bytes (at most {self._most})", "declare less")


class GatedBackend(DelegatingBackend, contract=1, checked=False):
    """A backend that raises `PolicyDenied` for every program that `gate` denies."""

    def __init__(self, inner: VyreBackend, gate: EnforceGate) -> None:
        super().__init__(inner)
        self.gate = gate

    def ask(self, program: Program, inputs: Inputs | None = None, config: DispatchConfig = DEFAULT_CONFIG) -> None:
        """Raise `PolicyDenied` if the gate denies `program`, and its launch over `inputs` if these are given.

        `InvalidProgram` is raised if the program is invalid. Invalid `inputs` do not change the verdict on the program.
        """
        verdict = self.gate.evaluate(validated(program))
        if not verdict.is_allowed and inputs is not None:
            with suppress(InvalidInput, InvalidLaunch, OutputLimitExceeded):  # no launch: then it stays denied
                given = bind_inputs(program, inputs)
                grid = read_indirect_grid(program, given)
                plan = plan_launch(program, [data.nbytes for data in given], config, indirect_grid=grid)
                verdict = self.gate.evaluate_launch(plan, given)
        if not verdict.is_allowed:
            raise PolicyDenied(verdict.policy, verdict.detail, fix=verdict.fix, where=f"program {program.name!r}")


_SEVERAL = ("Sequence[Program]", "Sequence[ResidentDispatchStep]", "Sequence[ResidentWave]")


def _gated(name: str) -> Callable[..., Any]:
    called = signature(getattr(VyreBackend, name))
    takes_inputs = "inputs" in called.parameters and str(called.parameters["inputs"].annotation) == "Inputs"
    several = [n for n, p in called.parameters.items() if str(p.annotation) in _SEVERAL]

    def method(self: GatedBackend, *args: Any, **named: Any) -> Any:
        call = called.bind(self, *args, **named)
        for given in several:  # what the gate has seen is what runs, also of an iterator
            call.arguments[given] = list(call.arguments[given])
        launch = [call.arguments.get(n, DEFAULT_CONFIG) for n in ("inputs", "config")] if takes_inputs else []
        for program in programs_of(call.arguments.values()):
            self.ask(program, *launch)
        return getattr(self.inner, name)(*call.args[1:], **call.kwargs)

    method.__name__, method.__doc__ = name, getattr(VyreBackend, name).__doc__
    return method


for _name in contract_methods(VyreBackend):
    if takes_programs(_name):
        setattr(GatedBackend, _name, _gated(_name))
