"""A backend, or a pipeline, that is another one but for what a subclass does beside.

Every method of the contract is handed on. Which they are is taken from the contract itself, so that one which the
contract gains is never forgotten. `dispatch_arrays` is not handed on: it calls `dispatch`, and so meets the subclass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentWave
from vyre_driver.backend.results import Inputs, Outputs
from vyre_foundation.ir.program import Program


class DelegatingBackend(VyreBackend, contract=1, checked=False):
    """Hands every call on to `inner`."""

    def __init__(self, inner: VyreBackend) -> None:
        self.inner = inner

    def id(self) -> str:
        """The id of `inner`."""
        return self.inner.id()

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Dispatch on `inner`; a subclass that overrides this changes `dispatch_arrays` too."""
        return self.inner.dispatch(program, inputs, config)


class DelegatingPipeline(CompiledPipeline):
    """Hands every call on to `inner`."""

    def __init__(self, inner: CompiledPipeline) -> None:
        self.inner = inner
        self.checked = inner.checked

    def id(self) -> str:
        """The id of `inner`."""
        return self.inner.id()

    def dispatch(self, inputs: Inputs, config: DispatchConfig | None = None) -> Outputs:
        """See `CompiledPipeline.dispatch`."""
        return self.inner.dispatch(inputs, config)


def innermost(backend: VyreBackend) -> VyreBackend:
    """The backend under everything that is wrapped around it."""
    while isinstance(backend, DelegatingBackend):
        backend = backend.inner
    return backend


def programs_of(arguments: Iterable[object]) -> list[Program]:
    """The programs among the arguments of a call, also those in a sequence, and in the steps of one or of waves."""
    found: list[Program] = []
    for argument in arguments:
        for item in argument if isinstance(argument, (list, tuple)) else (argument,):
            if isinstance(item, Program):
                found.append(item)
            elif isinstance(item, ResidentDispatchStep):
                found.append(item.program)
            elif isinstance(item, ResidentWave):
                found += [step.program for step in item.steps]
    return found


def takes_programs(method: str) -> bool:
    """Whether a method of the contract is given programs, or steps or waves, which have some."""
    given = vars(VyreBackend)[method].__annotations__.values()
    return any(name in str(kind) for kind in given for name in ("Program", "ResidentDispatchStep", "ResidentWave"))


def contract_methods(contract: type[VyreBackend] | type[CompiledPipeline]) -> tuple[str, ...]:
    """The public methods of a contract, in its order."""
    return tuple(name for name, value in vars(contract).items() if callable(value) and name[0] != "_")


def _handed_on(name: str, contract: type) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return getattr(self.inner, name)(*args, **named)

    method.__name__, method.__doc__ = name, getattr(contract, name).__doc__
    return method


def _hand_on(delegate: type, contract: type[VyreBackend] | type[CompiledPipeline]) -> None:
    for name in contract_methods(contract):
        if name not in vars(delegate):
            setattr(delegate, name, _handed_on(name, contract))


_hand_on(DelegatingBackend, VyreBackend)
_hand_on(DelegatingPipeline, CompiledPipeline)
