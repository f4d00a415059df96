"""Faults of caches: keys that leave something out, and results that are found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from vyre_conform.controls.engine import in_backend, on_engine
from vyre_conform.controls.evaluated import in_expressions
from vyre_conform.controls.fault import Fault, Layer
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs, borrowed_input_slices
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.launch_request import LaunchKey
from vyre_driver.engine.port import OpenPort
from vyre_foundation.ir.expr import Apply, Expr, Literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS

Right = Callable[..., Any]
OF = "vyre_driver.engine.device:PipelineCacheIdentity.of"
KEYS = "vyre_driver.engine.launch_cache"


def _zeroed(node: Expr) -> Expr:
    return Literal(node.dtype, 0) if isinstance(node, Literal) else node


def _sums(node: Expr) -> Expr:
    """All binary ops of numbers are alike."""
    alike = isinstance(node, Apply) and len(node.args) == 2 and node.dtype is node.args[0].dtype
    return Apply(OPS["add"], *node.args) if alike and node.dtype.is_integer else node


def keyed(by: Callable[[Program], str]) -> Callable[[Right], Right]:
    """Compiled code is found by what `by` gives of a program, and by nothing else."""

    def wrap(right: Right) -> Right:
        def of(program: Program, *rest: Any) -> Any:
            return replace(right(program, *rest), program=by(program), workgroup_size=(1, 1, 1))

        return of

    return wrap


def _keyed(**forgotten: Any) -> Callable[[Right], Right]:
    """Prepared launches are found by the program's contents, without some part of their key."""

    def wrap(right: Right) -> Right:
        def of(program: Program, inputs: Any, config: Any) -> Any:
            key = LaunchKey(*right(program, inputs, config))
            return key._replace(program=hash(program.fingerprint()), **forgotten)

        return of

    return wrap


def _of_any_lengths(right: Right) -> Right:
    """Plans are found by the program's contents and the options."""
    return lambda request: right(request)._replace(program=hash(request.program.fingerprint()), byte_lengths=())


def _first_grid(right: Right) -> Right:
    """The grid that an input brings is that of the first dispatch of the program."""
    grids: dict[str, Any] = {}

    def with_grid(key: Any, program: Program, inputs: Any, config: Any) -> Any:
        found = right(key, program, inputs, config)
        return found._replace(indirect_grid=grids.setdefault(program.fingerprint(), found.indirect_grid))

    return with_grid


class Remembering(EngineBackend, contract=1):
    """Gives again what a program gave, if the inputs have the same lengths."""

    def __init__(self, id: str, open_port: OpenPort) -> None:
        super().__init__(id, open_port)
        self.results: dict[tuple[Any, ...], Outputs] = {}

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        lengths = tuple(view.nbytes for view in borrowed_input_slices(inputs))
        key = (program.fingerprint(), lengths, config.launch_shape)
        if key not in self.results:
            self.results[key] = super().dispatch(program, inputs, config)
        return self.results[key]


def _of_size_one(program: Program) -> str:
    return replace(program, workgroup_size=(1, 1, 1)).fingerprint()


_fault = partial(Fault, Layer.CACHE)

# fmt: off
FAULTS = (
    _fault("key-literals", "the key of compiled code leaves out literals",
           on_engine(OF, keyed(lambda p: in_expressions(_zeroed)(p).fingerprint())), "literals:cached literals:*"),
    _fault("key-ops", "the key of compiled code does not tell ops apart",
           on_engine(OF, keyed(lambda p: in_expressions(_sums)(p).fingerprint())), "ops:add ops:sub"),
    _fault("key-name", "compiled code is found by the name of the program",
           on_engine(OF, keyed(lambda p: p.name)), "literals:cached"),
    _fault("key-workgroup", "the key of compiled code leaves out the workgroup size",
           on_engine(OF, keyed(_of_size_one)), "memory:sizes"),
    _fault("shape-lengths", "a prepared launch is used for inputs of any length",
           on_engine(f"{KEYS}:host_key", _keyed(byte_lengths=())), "memory:sizes memory:*"),
    _fault("shape-plan", "launches over other memory share a plan though they have other lengths",
           on_engine(f"{KEYS}:shape_of", _of_any_lengths), "memory:sizes memory:*"),
    _fault("shape-config", "a prepared launch is used for any grid and any number of iterations",
           on_engine(f"{KEYS}:host_key", _keyed(config=())), "ids:* iterations:*"),
    _fault("shape-indirect", "a prepared launch is used for any indirect grid",
           on_engine(f"{KEYS}:LaunchKey.with_grid", _first_grid), "indirect:*"),
    _fault("results-kept", "results are remembered by the lengths of inputs",
           in_backend(Remembering),
           "traps:* memory:sizes literals:cached"),
)
# fmt: on
