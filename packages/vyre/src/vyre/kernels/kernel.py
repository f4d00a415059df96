"""Kernels as objects: called with arrays, inspected, pickled."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Signature
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

import vyre_driver
from vyre import kernels
from vyre.execution import backend_for, grid_for, on_host
from vyre.kernels.annotations import ArrayType, KernelSignature, Role, ScalarType, signature_of
from vyre.kernels.compile import CompiledKernel, Options, compile_kernel
from vyre.kernels.decorated import plain_source_of, refuse_options
from vyre.kernels.device import HostCallable, Routine
from vyre.kernels.errors import KernelError
from vyre.kernels.source import FunctionSource
from vyre.kernels.values import public_name
from vyre_driver import DeviceArray, DispatchConfig, EngineBackend, UnsupportedFeature, VyreBackend
from vyre_driver.arrays.array import numpy_dtype, require_no_repeats, require_targets_apart
from vyre_driver.arrays.dispatch import backend_of, dispatch_device_arrays
from vyre_driver.arrays.make import host_zeros, zeros
from vyre_driver.arrays.structs import given_units, over_units
from vyre_driver.backend.config import DEFAULT_CONFIG
from vyre_driver.backend.delegate import innermost
from vyre_driver.backend.typed import ordered_inputs, refuse_missing
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_driver.graph.recorded import RecordedRange
from vyre_driver.plan.axes import ShapedLaunch, length_from, shape_of, shaped_launch
from vyre_driver.tune.routing import backend_for_launch, shared_routes
from vyre_foundation import Program
from vyre_foundation.build.arguments import dtype_of, number, shown, shown_type
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError
from vyre_foundation.html import program_html
from vyre_foundation.ir.shapes import Axis
from vyre_foundation.locks import ForkGuard
from vyre_foundation.markup import fragment

if TYPE_CHECKING:
    from vyre_driver.profiling.profile import DispatchProfile
    from vyre_driver.profiling.verdicts import DispatchExplanation

MAX_LAUNCHES = 256
"""Shapes for which a launcher remembers how to launch."""

COPIED_BYTES = 1 << 18
"""Bytes of results that are copied to arrays of the caller."""

NDArray = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class PreparedCall:
    """How to launch a kernel over arrays of certain shapes."""

    config: DispatchConfig
    shaped: ShapedLaunch
    results: Sequence[tuple[str, tuple[int, ...]]]
    has_more: bool
    """Whether the launch passes more than the caller does."""
    single: str | None
    """The name of the result that is returned, if it is one."""
    shape: tuple[int, ...] | None
    """Its shape, if it has several axes."""
    is_large: bool
    """Whether a copy of the results takes longer than what a launch into arrays of the caller has to check."""

    @functools.cached_property
    def zeros(self) -> dict[str, NDArray]:
        """The zeros that a launch over host memory passes for results. No launch writes to them."""
        made = {name: host_zeros(shape, dtype) for name, shape, dtype in self.shaped.zeros}
        for array in made.values():
            array.flags.writeable = False
        return made


_ELSEWHERE = frozenset((DeviceArray, RecordedRange))
"""Types of arguments that are not in host memory."""


class KernelLauncher(HostCallable):
    """A kernel on a backend, with the options of its launches. Made by `KernelFunction.on`."""

    def __init__(
        self,
        compiled: CompiledKernel,
        backend: str | VyreBackend | None,
        config: DispatchConfig,
        invocations: int | Sequence[int] | None,
    ) -> None:
        self._compiled, self._program = compiled, compiled.program
        self._config, self._invocations = config, invocations
        self._chosen, self._backend = backend, backend_for(backend)
        self._is_chosen = backend is not None and backend != "auto"
        self._routes = shared_routes()
        self._routed: dict[PreparedCall, tuple[int, Callable[..., dict[str, Any]]]] = {}
        """The dispatches of launches without a named backend, with the version of the routes that chose them."""
        self._inputs = [p for p in compiled.parameters if not _is_result(p.type)]
        self._names = [p.name for p in self._inputs]
        self._count = len(self._names)
        self.defaults = compiled.defaults
        """The numbers that parameters have where a caller passes none, by name."""
        self._arrays = [n for n, p in enumerate(self._inputs) if isinstance(p.type, ArrayType)]
        shapes = compiled.program.shapes
        self._lengths = [n for n, name in enumerate(self._names) if shapes is not None and name in shapes.numbers]
        """Where the numbers stand that are lengths of axes."""
        self._returns_tuple = compiled.returns_tuple
        self._prepared: dict[tuple[object, ...], PreparedCall] = {}
        self.launch: Callable[..., Any] = self._fast_launch()
        """What a call of the kernel calls."""

    def __repr__(self) -> str:
        return f"<kernel {self._compiled.name!r} on {self._backend.id()!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._chosen, VyreBackend):
            fix = f"name the backend, as in {self._compiled.name}.on({self._backend.id()!r})"
            raise TypeError(f"{self!r} has an open backend, which stays in its process. Fix: {fix}")
        return KernelLauncher, (self._compiled, self._chosen, self._config, self._invocations)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Launch the kernel, as `KernelFunction.__call__` does."""
        return self.launch(*arrays, **named)

    @property
    def program(self) -> Program:
        """The program of the kernel."""
        return self._program

    def source(self) -> str:
        """Give the source that the backend compiles, as `KernelFunction.source` does."""
        return _source(self._program, self._backend)

    def profile(self, *arrays: Any, **named: Any) -> DispatchProfile:
        """Launch the kernel many times over arrays, as `KernelFunction.profile` does."""
        inputs, launch = self._launch_over(self._bind(arrays, named)[0])
        opened = self._backend_of(inputs, launch)
        return vyre_driver.profile(self._program, on_host(inputs), opened, launch.config)

    def explain(self, *arrays: Any, **named: Any) -> DispatchExplanation:
        """Say everything that is decided about a launch over arrays, as `KernelFunction.explain` does."""
        inputs, launch = self._launch_over(self._bind(arrays, named)[0])
        opened = self._backend_of(inputs, launch)
        found = vyre_driver.explain(self._program, on_host(inputs), opened, launch.config)
        return kernels.explained_launch(self._compiled, launch.results, found)

    def _backend_of(self, given: Mapping[str, Any], launch: PreparedCall) -> VyreBackend:
        """The backend that is named, or that of device arrays, or that of the measured route."""
        chosen = self._backend if self._is_chosen else backend_of(given.values())
        return backend_for_launch(chosen, self._program, given, launch.config)

    def _dispatch_of(self, launch: PreparedCall, inputs: Mapping[str, Any]) -> Callable[..., dict[str, Any]]:
        """The dispatch of the backend that `tune` has measured to be the fastest, where it has.

        It is the same for all arrays of these shapes until there is another route.
        """
        known = self._routed.get(launch)
        if known is None or known[0] != self._routes.version:
            version = self._routes.version
            chosen = backend_for_launch(self._chosen, self._program, inputs, launch.config)
            known = self._routed[launch] = (version, chosen.dispatch_arrays)
        return known[1]

    def _launch_over(self, given: Sequence[Any]) -> tuple[dict[str, Any], PreparedCall]:
        """The inputs of a launch by name, and how it is launched."""
        known = self._prepared.get(self._key(given)) or self._prepare(given)
        inputs = dict(zip(self._names, given, strict=True))
        self._add(known, inputs)
        return inputs, known

    def _fast_launch(self) -> Callable[..., Any]:
        """The function of a call. What is the same for all calls is in its closure: a launch takes microseconds."""
        names, count, prepared = self._names, self._count, self._prepared
        program, routed = self._program, self._dispatch_of
        named_dispatch = self._backend.dispatch_arrays if self._is_chosen else None
        results = frozenset(p.name for p in self._compiled.parameters if _is_result(p.type))
        own_shape, numbers = attrgetter("shape"), self._arrays
        is_general = bool(self._lengths) or bool(self._compiled.structures)
        arrays_of: Callable[[Sequence[Any]], Sequence[Any]]
        if len(numbers) > 1:
            arrays_of = itemgetter(*numbers)
        else:  # where an item getter of numbers would not give a tuple
            arrays_of = itemgetter(slice(numbers[0], numbers[0] + 1) if numbers else slice(0))

        def launch(*arrays: Any, **named: Any) -> Any:
            if len(arrays) != count or is_general or not named.keys() <= results:
                return self._launch_named(arrays, named)
            if named:
                named = {name: target for name, target in named.items() if target is not None}
            try:
                known = prepared[tuple(map(own_shape, arrays_of(arrays)))]
            except (AttributeError, KeyError, TypeError):
                known = self._prepare(arrays)
            inputs = dict(zip(names, arrays))  # noqa: B905 - counted above
            if not _ELSEWHERE.isdisjoint(map(type, arrays)):
                return self._elsewhere(known, inputs, named)
            if known.has_more:
                self._add(known, inputs)
            if named:
                return self._launch_into(known, inputs, named)
            dispatch = named_dispatch or routed(known, inputs)
            outputs = dispatch(program, inputs, known.config)
            if known.single is None:
                return self._results(known, outputs, {})
            output = outputs[known.single]
            return output if known.shape is None else output.reshape(known.shape)

        return launch

    def _launch_named(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> object:
        """A launch with arguments by name, or with arrays that receive results."""
        given, targets = self._bind(arrays, named)
        inputs, known = self._launch_over(given)
        if not _ELSEWHERE.isdisjoint(map(type, given)):
            return self._elsewhere(known, inputs, targets)
        return self._launch_into(known, inputs, targets)

    def _launch_into(self, launch: PreparedCall, inputs: dict[str, Any], targets: Mapping[str, Any]) -> object:
        """A launch over host memory into arrays that receive results."""
        if not _ELSEWHERE.isdisjoint(map(type, targets.values())):
            return self._elsewhere(launch, inputs, targets)
        self._require_targets(launch, targets)
        if targets and launch.is_large and self._dispatch_into(launch, inputs, targets):
            return self._results(launch, targets, targets)
        return self._results(launch, self._dispatch_of(launch, inputs)(self._program, inputs, launch.config), targets)

    def _require_targets(self, launch: PreparedCall, targets: Mapping[str, Any]) -> None:
        for name, shape in launch.results:
            if name in targets:
                _require_target(name, targets[name], self._program.buffer(name).dtype.numpy, shape)
        if len(targets) > 1:
            require_targets_apart(targets)

    def _dispatch_into(self, launch: PreparedCall, inputs: Mapping[str, Any], targets: Mapping[str, Any]) -> bool:
        """Dispatch into arrays of the caller; whether there is one in order for each result. If not, nothing has run.

        A backend that finds an array to overlap another one, or cannot use it, copies the result to it.
        """
        program, backend = self._program, self._backend
        made = [targets.get(buffer.name) for buffer in program.outputs]
        if self._compiled.structures or not all(type(x) is np.ndarray and x.flags.carray for x in made):
            return False
        if not self._is_chosen and self._routes.of(program):
            backend = backend_for_launch(None, program, inputs, launch.config)
        slots: list[Any] = [array.reshape(-1).view(np.uint8) for array in made if array is not None]
        backend.dispatch_borrowed_into(program, ordered_inputs(program, inputs), launch.config, slots)
        return True

    def _elsewhere(self, launch: PreparedCall, inputs: dict[str, Any], targets: Mapping[str, Any]) -> object:
        """A launch with arguments that are not in host memory: a dispatch of a graph that is being recorded, or one."""
        ranges = [x for x in (*inputs.values(), *targets.values()) if isinstance(x, RecordedRange)]
        if not ranges:
            return self._on_device(launch, inputs, targets)
        if self._is_chosen:
            fix = "call the kernel itself; compile(placement=…) of the graph says where its dispatch runs"
            got = f"a call on {self._backend.id()!r}"
            raise InvalidLaunch(self._compiled.name, needed="a kernel of the graph's backend", got=got, fix=fix)
        given = {name: inputs[name] for name in self._names}
        return kernels.record_call(self._compiled, ranges[0].recorder, given, targets, self._config, self._invocations)

    def _on_device(self, launch: PreparedCall, inputs: dict[str, Any], targets: Mapping[str, Any]) -> object:
        """A launch with device arrays: on their backend, if the caller has not chosen another one."""
        held = backend_of((*inputs.values(), *targets.values()))
        backend = self._backend if self._is_chosen or held is None else held
        inputs.update(launch.shaped.constants)
        made = [name for name, _, _ in launch.shaped.zeros]
        for name, shape, dtype in launch.shaped.zeros:
            inputs[name] = zeros(backend, shape, dtype)
        self._require_targets(launch, targets)
        outputs = dispatch_device_arrays(backend, self._program, inputs, launch.config, made, targets)
        return self._results(launch, outputs, targets)

    def _add(self, launch: PreparedCall, inputs: dict[str, Any]) -> None:
        """Add what the program takes and the caller does not pass."""
        inputs.update(launch.shaped.constants)
        inputs.update(launch.zeros)

    def _results(self, launch: PreparedCall, outputs: Mapping[str, Any], targets: Mapping[str, Any]) -> object:
        """The results, those that the caller gives memory for in that memory."""
        found, structures = [], self._compiled.structures
        for name, shape in launch.results:
            given, target = outputs[name], targets.get(name)
            output = given if given.shape == shape else given.reshape(shape)
            if target is not None and target is not given:
                target[...] = (
                    output.numpy() if isinstance(output, DeviceArray) != isinstance(target, DeviceArray) else output
                )
            made = output if target is None else target
            found.append(made if name not in structures else over_units(structures[name], made))
        return tuple(found) if self._returns_tuple else found[0] if found else None

    def _bind(self, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, NDArray]]:
        """The inputs in order, and the arrays that receive results."""
        parameters = self._compiled.parameters
        order = [p.name for p in parameters] if len(given) == len(parameters) else self._names
        if len(given) > len(order):
            needed = f"at most {len(self._names)} inputs, or all {len(parameters)} parameters"
            inputs = ", ".join(self._names) or "nothing"
            fix = f"pass {inputs}"
            if len(parameters) > len(self._names):
                fix += " in order, and results by name; or all parameters in order"
            raise InvalidLaunch("arguments", needed=needed, got=str(len(given)), fix=fix)
        found = dict(zip(order, given, strict=False))
        known = [p.name for p in parameters]
        for name, value in named.items():
            if name not in known:
                needed = f"one of {', '.join(known) or 'no names'}"
                fix = "pass the parameters of the kernel"
                if name in ("backend", "config"):
                    fix = f"name it before the call: {self._compiled.name}.on(…)(…)"
                elif name.startswith("out"):
                    fix = (
                        "annotate a parameter with vy.Out, which takes the memory of a result; what is returned is new"
                    )
                raise InvalidLaunch(name, needed=needed, got="an unknown name", fix=fix)
            if name in found:
                raise InvalidLaunch(name, needed="one value", got="two", fix="pass it once")
            found[name] = value
        found = {name: x for name, x in found.items() if x is not None or name in self._names}
        for name in self._names:
            if name not in found and name in self.defaults:
                found[name] = self.defaults[name]
            elif name not in found:
                raise InvalidLaunch(name, needed="a value for each input", got="none", fix=f"pass {name!r}")
        for name, dtype in self._compiled.structures.items():
            if name in found and not isinstance(found[name], RecordedRange):  # which has units already
                found[name] = given_units(dtype, name, found[name], in_place=name not in self._names)
        return tuple([found.pop(name) for name in self._names]), found

    def _shapes(self, arrays: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
        return tuple([shape_of(self._names[n], arrays[n]) for n in self._arrays])

    def _key(self, given: Sequence[Any]) -> tuple[object, ...]:
        """What decides about a launch: the shapes of the arrays, and the numbers that are lengths."""
        return *self._shapes(given), *(length_from(self._names[n], given[n]) for n in self._lengths)

    def _prepare(self, inputs: Sequence[Any]) -> PreparedCall:
        """Check the shapes against the annotations, and compute the grid."""
        compiled, config, shapes = self._compiled, self._config, self._shapes(inputs)
        if self._invocations is not None and config.grid_override is None:
            config = config.replace(grid_override=grid_for(self._program, self._invocations, config))
        given = {self._names[number]: shape for number, shape in zip(self._arrays, shapes, strict=True)}
        shaped = shaped_launch(self._program, given, config, dict(zip(self._names, inputs, strict=True)))
        results = [(result.name, shaped.results[result.name]) for result in compiled.results]
        single = results[0][0] if len(results) == 1 and not self._returns_tuple else None
        several = results[0][1] if single is not None and len(results[0][1]) != 1 else None
        has_more, copied = bool(shaped.constants or shaped.zeros), 0
        for name, shape in results:
            copied += math.prod(shape) * self._program.buffer(name).dtype.size
        launch = PreparedCall(shaped.config, shaped, results, has_more, single, several, copied > COPIED_BYTES)
        if len(self._prepared) >= MAX_LAUNCHES:
            self._prepared.clear()
            self._routed.clear()
        self._prepared[self._key(inputs)] = launch
        return launch


def _require_target(name: str, target: Any, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> None:
    is_array, wanted = isinstance(target, (np.ndarray, DeviceArray)), np.dtype(dtype)
    if not is_array or numpy_dtype(target) != wanted or target.shape != shape:
        needed = f"an array of {wanted.name} of the shape {shape}"
        got = f"one of {shown_type(numpy_dtype(target))}, {target.shape}" if is_array else shown(target)
        raise InvalidInput(name, needed=needed, got=got, fix="pass such an array, or leave it out")
    refuse_missing(name, target)
    if isinstance(target, np.ndarray) and not target.flags.writeable:
        raise InvalidInput(name, needed="an array that can be written", got="one that cannot", fix="pass another")
    require_no_repeats(name, target.shape, target.strides)


def _is_result(type_: ArrayType | ScalarType) -> bool:
    return isinstance(type_, ArrayType) and type_.role is Role.OUT


class KernelFunction(Routine, HostCallable):
    """A Python function that runs on every backend. Made by `kernel`.

    It is compiled at the first call, or when its program is asked for, once; it may be called from several threads.
    """

    __name__: str
    __signature__: Signature
    """What `inspect.signature` gives for a kernel without its function."""

    def __init__(
        self,
        source: FunctionSource | None,
        signature: KernelSignature,
        options: Options,
        backend: str | VyreBackend | None,
        compiled: CompiledKernel | None = None,
    ) -> None:
        self._source, self._signature, self._options, self._backend = source, signature, options, backend
        self._compiled = compiled
        self._variables = signature.type_variables
        self._special: dict[tuple[DType, ...], KernelFunction] = {}
        self._launch: Callable[..., Any] | None = None
        self._guard = ForkGuard(threading.RLock)
        if source is not None:
            functools.update_wrapper(self, source.function)
        elif compiled is not None:
            self.__name__ = compiled.name

    def __repr__(self) -> str:
        return f"<kernel {self.__name__!r}>"

    def _repr_html_(self) -> str:
        if self._variables:
            names = ", ".join(variable.__name__ for variable in self._variables)
            return fragment(f"kernel {self.__name__}", f"generic in {names}")
        return program_html(self.program)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Launch the kernel over arrays.

        Args:
            *arrays: The inputs in the order of the parameters: NumPy arrays or device arrays, of the annotated types
                and shapes, and numbers.
            **named: Inputs by name, and arrays that receive results.

        Returns:
            The result as a new array, several as a tuple in the order of the parameters, returned ones last: arrays of
            the device if an argument is one, else NumPy arrays.

        Raises:
            KernelError: The function means no program.
            InvalidInput: An array, which the error names, has another type or shape.
            Trapped: The kernel recorded a failure.
        """
        launch = self._launch
        if launch is None:
            launch = self._launcher(arrays, named)
        return launch(*arrays, **named)

    def _launcher(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> Callable[..., Any]:
        if self._variables:
            return self[self._dtypes(arrays, named)]
        with self._guard.lock:
            if self._launch is None:
                self._launch = self.on().launch
            return self._launch

    def _dtypes(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> tuple[DType, ...]:
        """The types for the type variables: those of the arrays of a call, or of a number where no array has one."""
        names = [p.name for p in self._signature.parameters]
        if len(arrays) != len(names):
            names = [p.name for p in self._signature.parameters if not _is_result(p.type)]
        given = {**dict(zip(names, arrays, strict=False)), **named}
        found: dict[TypeVar, DType] = {}
        for parameter in sorted(self._signature.parameters, key=lambda p: isinstance(p.type, ScalarType)):
            variable, array = parameter.type.dtype, given.get(parameter.name)
            if isinstance(variable, TypeVar) and hasattr(array, "dtype"):
                dtype = dtype_of(numpy_dtype(array))
                is_number = isinstance(parameter.type, ScalarType) and number(array) is not None
                if found.setdefault(variable, dtype) is not dtype and not is_number:
                    needed = f"one of {found[variable]}, as the others of {variable.__name__}"
                    fix = "pass arrays of one type"
                    raise InvalidInput(parameter.name, needed=needed, got=f"one of {dtype}", fix=fix)
        for variable in self._variables:
            if variable not in found:
                fix = f"pass an array, or choose the type, as in {self._example()}"
                raise InvalidLaunch(variable.__name__, needed="an array of this type", got="none", fix=fix)
        return tuple(found[variable] for variable in self._variables)

    def _example(self) -> str:
        """How to choose types for the type variables: the first that each allows."""
        chosen = ", ".join(f"vy.{public_name(variable.__constraints__[0])}" for variable in self._variables)
        return f"{self.__name__}[{chosen}]"

    def __getitem__(self, dtypes: object) -> KernelFunction:
        """The generic kernel for certain types, as in ``scale[vy.f32]``, one for each type variable."""
        if not self._variables:
            fix = "call it as it is: the launch has the shape of its arrays"
            raise BuildError(f"the kernel {self.__name__!r} is not generic", fix=fix)
        chosen = tuple(map(dtype_of, dtypes if isinstance(dtypes, tuple) else (dtypes,)))
        known = self._special.get(chosen)
        if known is not None:
            return known
        if len(chosen) != len(self._variables):
            names = ", ".join(v.__name__ for v in self._variables)
            raise BuildError(f"got {len(chosen)} types, expected one for each of {names}", fix="pass a type for each")
        for variable, dtype in zip(self._variables, chosen, strict=True):
            if not any(dtype is t for t in variable.__constraints__):
                allowed = ", ".join(map(str, variable.__constraints__))
                message = f"the kernel {self.__name__!r} has no {variable.__name__} = {dtype}"
                raise BuildError(message, fix=f"use one of {allowed}")
        signature = self._signature.specialized(dict(zip(self._variables, chosen, strict=True)))
        with self._guard.lock:
            made = KernelFunction(self._source, signature, self._options, self._backend)
            return self._special.setdefault(chosen, made)

    @property
    def compiled(self) -> CompiledKernel:
        """The program, and what a launch has to know of its arrays. Compiled once."""
        if self._compiled is None:
            if self._variables:
                names = ", ".join(v.__name__ for v in self._variables)
                fix = f"choose types, as in {self._example()}"
                raise BuildError(f"the kernel {self.__name__!r} is generic in {names}", fix=fix)
            with self._guard.lock:
                if self._compiled is None:
                    assert self._source is not None
                    try:
                        self._compiled = compile_kernel(self._source, self._signature, self._options)
                    except KernelError as error:  # its message shows the line; frames of the compiler would hide it
                        raise error.with_traceback(None) from error.__cause__
        return self._compiled

    @property
    def program(self) -> Program:
        """The program of the kernel."""
        return self.compiled.program

    @property
    def defaults(self) -> dict[str, object]:
        """The numbers that parameters have where a caller passes none, by name."""
        return self.compiled.defaults

    def on(
        self,
        backend: str | VyreBackend | None = None,
        *,
        config: DispatchConfig | None = None,
        invocations: int | Sequence[int] | None = None,
    ) -> KernelLauncher:
        """Choose where and how the kernel is launched.

        Args:
            backend: As for `vyre.backend_for`; without one, that of the decorator.
            config: The options of the dispatches.
            invocations: The least number of invocations on x, (x, y) or (x, y, z), instead of the shape of the launch.

        Returns:
            A callable with the parameters of the kernel.

        Raises:
            UnknownBackend: No installed package registers the id.
            BackendUnavailable: The backend cannot be opened on this machine.
            InvalidLaunch: A configuration is passed for the backend, or something else for the configuration.
        """
        given: object = backend
        if isinstance(given, DispatchConfig):
            needed, fix = "the id of a backend, or a backend", "name it, as in on(config=DispatchConfig(…))"
            raise InvalidLaunch("backend", needed=needed, got="a DispatchConfig", fix=fix)
        options: object = config
        if options is not None and not isinstance(options, DispatchConfig):
            fix = "pass vyre.DispatchConfig(timeout=…, …)"
            raise InvalidLaunch("config", needed="a DispatchConfig", got=shown(options), fix=fix)
        chosen = self._backend if backend is None else backend
        return KernelLauncher(self.compiled, chosen, DEFAULT_CONFIG if config is None else config, invocations)

    def source(self, backend: str | VyreBackend | None = None) -> str:
        """Return the source that a backend compiles for the kernel.

        Args:
            backend: As for `vyre.backend_for`; without one, that of the decorator.

        Returns:
            The source in the language of the backend.

        Raises:
            UnsupportedFeature: The backend emits no source.
        """
        return _source(self.program, backend_for(self._backend if backend is None else backend))

    def profile(self, *arrays: Any, **named: Any) -> DispatchProfile:
        """Launch the kernel many times over arrays, and compare it with the limits of the device.

        Args:
            *arrays: The inputs of a launch.
            **named: Inputs by name.

        Returns:
            The profile, as `vyre.profile` gives it. For another backend, ``kernel.on(backend).profile(…)``.
        """
        return self._launcher_for(arrays, named).profile(*arrays, **named)

    def _launcher_for(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> KernelLauncher:
        chosen = self if not self._variables else self[self._dtypes(arrays, named)]
        return chosen.on()

    def explain(self, *arrays: Any, **named: Any) -> DispatchExplanation:
        """Describe the kernel: its program and facts; with arrays, also every decision about their launch.

        Args:
            *arrays: The inputs of a launch, or none.
            **named: Inputs by name.

        Returns:
            The description: ``print`` shows it, ``to_json()`` gives data. For another backend,
            ``kernel.on(backend).explain(…)``.
        """
        if arrays or named:
            return self._launcher_for(arrays, named).explain(*arrays, **named)
        return kernels.explained(self.compiled)

    def __reduce__(self) -> Any:
        name = self.global_name() if self._variables else None
        if name is not None:
            return name
        chosen = self._backend if isinstance(self._backend, str) else None  # an open backend stays in its process
        about = {name: getattr(self, name) for name in _ABOUT if hasattr(self, name)}
        return _restored, (self.compiled, chosen, about)


def _source(program: Program, backend: VyreBackend) -> str:
    opened = innermost(backend)
    if not isinstance(opened, EngineBackend):
        fix = "name a backend that compiles"
        raise UnsupportedFeature("printing source: it emits none", backend=opened.id(), fix=fix)
    return opened.emitted_source(program).text


_ABOUT = ("__doc__", "__module__", "__name__", "__qualname__")
"""What a kernel in a pickle keeps of its function: the texts that describe it."""


def _restored(
    compiled: CompiledKernel, backend: str | None = None, about: Mapping[str, str | None] = MappingProxyType({})
) -> KernelFunction:
    """A kernel without its source; `about` has the attributes of its function."""
    signature = KernelSignature(compiled.parameters, (), compiled.returns_tuple)
    made = KernelFunction(None, signature, Options(None, None, None), backend, compiled)
    made.__signature__ = signature.parameters_of_function(without=compiled.structures)
    for name, value in about.items():
        setattr(made, name, value)
    return made


def _axes(given: object) -> tuple[Axis, ...]:
    """The axes of a launch."""
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    for axis in parts:
        if not (isinstance(axis, str) and axis.isidentifier()) and not (type(axis) is int and 0 < axis < 2**32):
            message = f"got {shown(axis)} as an axis of the shape of the launch"
            raise BuildError(message, fix="pass names of shape variables, or lengths, as in shape=('h', 'w')")
    return parts


@overload
def kernel(function: Callable[..., Any], /) -> KernelFunction: ...


@overload
def kernel(
    *,
    workgroup_size: int | Sequence[int] | None = None,
    subgroup_size: int | None = None,
    shape: Axis | Sequence[Axis] | None = None,
    backend: str | VyreBackend | None = None,
) -> Callable[[Callable[..., Any]], KernelFunction]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    workgroup_size: int | Sequence[int] | None = None,
    subgroup_size: int | None = None,
    shape: Axis | Sequence[Axis] | None = None,
    backend: str | VyreBackend | None = None,
    **others: object,
) -> KernelFunction | Callable[[Callable[..., Any]], KernelFunction]:
    """Make a kernel from a function, whose body says what one invocation does (docs/kernels.md).

    Args:
        function: Made by ``def``. Its annotations say the types and shapes of arrays and numbers.
        workgroup_size: Invocations per workgroup on (x, y, z), where x is the last axis of an array.
        subgroup_size: A power of two in 1 … 64 that divides them, for kernels with collectives.
        shape: The shape of the launch: names of shape variables, or numbers. By default that of the first result.
        backend: The backend on which calls run, as for `vyre.backend_for`.
        **others: Not accepted; the error names what to write instead.

    Returns:
        The kernel.

    Raises:
        KernelError: An annotation is missing or is not a type of a kernel, or another decorator wraps the function.
        BuildError: It is not such a function, its source is not available, or there is no such option.
    """
    refuse_options("kernel", others, ("workgroup_size", "subgroup_size", "shape", "backend"))

    def make(function: Callable[..., Any]) -> KernelFunction:
        fix = "leave it out, or write it above @vy.kernel, where it wraps the calls"
        source = plain_source_of(function, fix=fix)
        return KernelFunction(source, signature_of(source), Options(workgroup_size, subgroup_size, axes), backend)

    axes = None if shape is None else _axes(shape)

    return make if function is None else make(function)
