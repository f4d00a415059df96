"""Base classes for backends and pipelines that wrap another one.

Every method of the contract delegates to the wrapped object, including methods that the contract gains later, because
the list comes from the contract itself. `dispatch_arrays` does not delegate: it calls `dispatch` of the subclass.
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
    """A backend that delegates every call to `inner`."""

    def __init__(self, inner: VyreBackend) -> None:
        self.inner = inner

    def id(self) -> str:
        """The id of `inner`."""
        return self.inner.id()

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Dispatch on `inner`. A subclass that overrides this also changes `dispatch_arrays`."""
        return self.inner.dispatch(program, inputs, config)


class DelegatingPipeline(CompiledPipeline):
    """A pipeline that delegates every call to `inner`."""

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
    """Return the innermost backend that is not a wrapper."""
    while isinstance(backend, DelegatingBackend):
        backend = backend.inner
    return backend


def programs_of(arguments: Iterable[object]) -> list[Program]:
    """Return the programs in the arguments of a call, including those of steps and waves."""
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
    """Return whether a method of the contract takes programs, or steps or waves, which contain programs."""
    given = vars(VyreBackend)[method].__annotations__.values()
    return any(name in str(kind) for kind in given for name in ("Program", "ResidentDispatchStep", "ResidentWave"))


def contract_methods(contract: type[VyreBackend] | type[CompiledPipeline]) -> tuple[str, ...]:
    """Return the names of the public methods of a contract, in its order."""
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
