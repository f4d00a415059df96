"""Running a program in one call: NumPy in, NumPy out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import vyre_driver
import vyre_reference
from vyre_driver import (
    DeviceArray,
    DispatchConfig,
    VyreBackend,
    backend_for as backend_for,
    registered_backends_by_precedence as registered_backends_by_precedence,
)
from vyre_driver.arrays.dispatch import backend_of, dispatch_device_arrays
from vyre_driver.arrays.make import host_zeros, zeros
from vyre_driver.arrays.structs import Structured, given_units, layout_of, over_units, structured
from vyre_driver.backend.config import DEFAULT_CONFIG
from vyre_driver.backend.delegate import innermost
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_driver.observe.live import by_profile
from vyre_driver.plan.axes import given_shapes, shaped_launch
from vyre_driver.plan.launch import grid_of_invocations, require_x_alone, with_invocations
from vyre_driver.plan.programs import HasProgram, defaults_of, required_program
from vyre_driver.tune.routing import backend_for_launch
from vyre_foundation import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.tune.programs import Tuning

_shadowed: dict[tuple[VyreBackend, str], VyreBackend] = {}
_guard = ForkGuard()


def run(
    program: Program | HasProgram,
    inputs: Mapping[str, object] | None = None,
    /,
    *,
    backend: str | VyreBackend | None = None,
    config: DispatchConfig | None = None,
    invocations: int | Sequence[int] | None = None,
    **arrays: object,
) -> dict[str, Any]:
    """Run a program once over arrays.

    Args:
        program: The program that `build()` returned, or a kernel.
        inputs: The inputs by buffer name, for names that keywords cannot have.
        backend: As for `backend_for`. By default, the fastest one for this program and size of data, if `tune` has
            measured it.
        config: The options of the dispatch. The profile ``shadow`` compares the outputs with the reference's,
            ``shadow:16`` does so for one run in sixteen.
        invocations: The least number of invocations on x, (x, y) or (x, y, z). By default there are as many on x as the
            longest output has elements.
        **arrays: The inputs by buffer name: NumPy arrays of the declared types and any shape, objects that export
            DLPack or the array interface, and numbers for uniforms of one element. Device arrays, made by `vyre.array`,
            are used in place, on their backend.

    Returns:
        The outputs by buffer name, in the declared types: NumPy arrays, or arrays of the device if any input is one. An
        output that is declared `like` an input has the shape of the array that was passed for it; the others have one
        dimension.

    Raises:
        InvalidInput: A buffer, which the error names, is missing, unknown, or has a wrong type or backend.
        InvalidLaunch: An argument, which the error names, is invalid.
        Trapped: The program recorded a failure.
        VyreError: The dispatch failed for another reason (docs/codes.md).
    """
    launch = launch_of(program, inputs, arrays, config, invocations)
    program, named, options = launch.program, launch.arrays, launch.config
    held = backend_of(named.values())
    if held is not None:
        opened = _profiled(held if backend is None else backend_for(backend), options)
        return launch.shaped(dispatch_device_arrays(opened, program, named, options, launch.zeros))
    opened = _profiled(backend_for_launch(backend, program, named, options), options)
    return launch.shaped(opened.dispatch_arrays(program, named, options))


def tune(
    program: Program | HasProgram,
    inputs: Mapping[str, object] | None = None,
    /,
    *,
    backend: str | VyreBackend | Sequence[str | VyreBackend] | None = None,
    config: DispatchConfig | None = None,
    invocations: int | Sequence[int] | None = None,
    workgroup_sizes: Iterable[tuple[int, int, int]] | None = None,
    **arrays: object,
) -> Tuning:
    """Measure how a program runs fastest for data of this size, and use that from now on.

    Candidates are the workgroup sizes that provably do not change the result, the queues of a device, and the backends.
    The choice is stored for later processes, for this device and for inputs of the same size in bytes, rounded to a
    power of two.

    Args:
        program: The program that `build()` returned, or a kernel.
        inputs: The inputs by buffer name, as for `run`.
        backend: The backend to tune for, or several. By default all available ones that may be chosen without being
            named; then a `run` that names no backend uses the fastest.
        config: The options of the dispatches.
        invocations: The least number of invocations, as for `run`.
        workgroup_sizes: Sizes to try, (x, y, z) each, for a program whose result could depend on them; the caller
            guarantees that it does not.
        **arrays: The inputs by buffer name, as for `run`.

    Returns:
        The candidates with their times, and the choice, which always gives the same bytes. `print` shows it.

    Raises:
        UnsupportedFeature: The named backend cannot be tuned.
        VyreError: What `run` raises.
    """
    launch = launch_of(program, inputs, arrays, config, invocations)
    sizes = None if workgroup_sizes is None else tuple(workgroup_sizes)
    for size in sizes or ():  # a size that the shape of the launch does not have the axes of is refused
        sized = (DEFAULT_CONFIG if config is None else config).replace(workgroup_override=size)
        launch_of(program, inputs, arrays, sized, invocations)
    return vyre_driver.tune_program(
        launch.program, on_host(launch.arrays), backend=backend, config=launch.config, workgroup_sizes=sizes
    )


def check(
    program: Program | HasProgram,
    inputs: Mapping[str, object] | None = None,
    /,
    *,
    backend: str | VyreBackend | None = None,
    config: DispatchConfig | None = None,
    invocations: int | Sequence[int] | None = None,
    **arrays: object,
) -> dict[str, npt.NDArray[Any]]:
    """Run a program and look for data races.

    In a race, two invocations access one element, at least one of them writes, and there are neither atomics nor a
    barrier between them (docs/language.md, "Memory"). The result is undefined, and a device does not report it. One run
    finds a race for these inputs and this grid if there is any, unless old values of atomics decide which elements are
    used.

    Args:
        program: The program that `build()` returned, or a kernel.
        inputs: The inputs by buffer name, as for `run`.
        backend: As for `run`. The program runs there with one or two additional 64-bit words for each element that it
            may write. The reference compares accesses one by one instead, and is hundreds of times slower.
        config: The options of the dispatch.
        invocations: The least number of invocations, as for `run`.
        **arrays: The inputs by buffer name, as for `run`.

    Returns:
        The outputs, as `run` does.

    Raises:
        DataRace: The program has a race; the error names both invocations, the buffer, the index and the lines.
        VyreError: What `run` raises.
    """
    launch = launch_of(program, inputs, arrays, config, invocations)
    return launch.shaped(checked(backend_for(backend), launch.program, on_host(launch.arrays), launch.config))


def checked(
    backend: VyreBackend, program: Program, arrays: Mapping[str, object], config: DispatchConfig
) -> dict[str, npt.NDArray[Any]]:
    """The outputs of a launch, or `DataRace`. The reference has a detector of its own."""
    is_reference = isinstance(innermost(backend), vyre_reference.ReferenceBackend)
    return vyre_reference.detect_races(program, arrays, config, None if is_reference else backend)


def grid_for(
    program: Program | HasProgram, invocations: int | Sequence[int], config: DispatchConfig | None = None
) -> tuple[int, int, int]:
    """Compute the grid for a number of invocations, for `DispatchConfig.grid_override`.

    Args:
        program: The program that `build()` returned, or a kernel.
        invocations: The least number on x, (x, y) or (x, y, z): of an image (width, height), where its array has the
            shape (height, width).
        config: May have a workgroup size that replaces the program's.

    Returns:
        Workgroups on each axis, (x, y, z).

    Raises:
        InvalidLaunch: `program` is not a program, or `invocations` is invalid.
    """
    return grid_of_invocations(required_program(program), invocations, DEFAULT_CONFIG if config is None else config)


class ProgramLaunch(NamedTuple):
    """What a launch of a program is given, from the arguments of a caller."""

    program: Program
    arrays: dict[str, object]
    config: DispatchConfig
    results: Mapping[str, tuple[int, ...]]
    """The shapes of the outputs that are declared with one."""
    zeros: Sequence[str]
    """The names of arrays of zeros that are made for it."""
    structures: Mapping[str, Structured]
    """The types of the arrays of structures among those that the caller passes."""

    def shaped(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """The outputs of the launch, in these shapes, and as structures what was passed as such."""
        found = outputs | {name: outputs[name].reshape(shape) for name, shape in self.results.items()}
        return found | {
            name: over_units(dtype, found[name]) for name, dtype in self.structures.items() if name in found
        }


def launch_of(
    given: Program | HasProgram,
    inputs: Mapping[str, object] | None,
    arrays: Mapping[str, object],
    config: DispatchConfig | None,
    invocations: int | Sequence[int] | None,
) -> ProgramLaunch:
    """The launch of a program, or that of a kernel, from arguments that are of the right kinds."""
    program = required_program(given)
    if inputs is not None:
        _require(inputs, Mapping, "inputs", "pass arrays by name, as in vyre.run(program, x=x, y=y)")
    options = DEFAULT_CONFIG if config is None else config
    _require(options, DispatchConfig, "config", "pass vyre.DispatchConfig(timeout=…, …)")
    if invocations is not None:
        options = with_invocations(program, invocations, options)
    named = {**defaults_of(given), **(inputs or {}), **arrays}
    structures = _structures(program, named)
    named |= {name: given_units(dtype, name, named[name]) for name, dtype in structures.items()}
    results: Mapping[str, tuple[int, ...]] = {}
    made: list[str] = []
    if program.shapes is not None:
        shaped = shaped_launch(program, given_shapes(program.shapes, named), options, named)
        options, results = shaped.config, shaped.results
        held = backend_of(named.values()) if shaped.zeros else None
        named |= shaped.constants
        made = [name for name, _, _ in shaped.zeros]
        for name, shape, dtype in shaped.zeros:
            named[name] = host_zeros(shape, dtype) if held is None else zeros(held, shape, dtype)
    elif LAUNCH_SHAPE not in named and any(buffer.name == LAUNCH_SHAPE for buffer in program.inputs):
        raise _without_shapes(program)
    if options.grid_override is None:
        require_x_alone(program, options)
    return ProgramLaunch(program, named, options, results, made, structures)


def _structures(program: Program, given: Mapping[str, object]) -> dict[str, Structured]:
    """The types of the structures among the inputs, where the program has the units of such elements."""
    found = {}
    shapes = {} if program.shapes is None else program.shapes.buffers
    for buffer in program.inputs:
        dtype = structured(given.get(buffer.name))
        if dtype is not None and buffer.name in shapes:
            layout = layout_of(dtype)
            if layout.unit is buffer.dtype and shapes[buffer.name][-1] == layout.count:
                found[buffer.name] = dtype
    return found


def on_host(named: Mapping[str, object]) -> dict[str, object]:
    """The arrays of a launch that is examined, those of a device as copies on the host."""
    return {name: x.numpy() if isinstance(x, DeviceArray) else x for name, x in named.items()}


def _without_shapes(program: Program) -> InvalidInput:
    """The error for a program that takes lengths of axes, and has lost what says where they come from."""
    count = program.buffer(LAUNCH_SHAPE).count
    needed = f"{count} lengths of axes, because bytes and text do not hold the shapes that the program was built with"
    fix = (
        "give it the shapes, as in program.with_shapes(kernel.program.shapes), or pass it by pickle, which keeps them;"
        f" or pass {{'{LAUNCH_SHAPE}': numpy.array(lengths, numpy.uint32)}} and invocations=…"
    )
    return InvalidInput(LAUNCH_SHAPE, needed=needed, got="nothing", fix=fix)


def _require(given: object, kind: type, name: str, fix: str) -> None:
    if not isinstance(given, kind):
        got = "None" if given is None else type(given).__name__
        raise InvalidLaunch(name, needed="a string" if kind is str else f"a {kind.__name__}", got=got, fix=fix)


def _profiled(backend: VyreBackend, config: DispatchConfig) -> VyreBackend:
    """`backend` with the shadow that the profile asks for: one for each backend and profile, which counts its runs."""
    profile = config.profile
    if profile is None:
        return backend
    if not profile.startswith("shadow"):
        fix = "name a dispatch in reports with `label`"
        raise InvalidLaunch("profile", needed="'shadow' or 'shadow:N'", got=repr(profile), fix=fix)
    with _guard.lock:
        key = backend, profile
        if key not in _shadowed:
            _shadowed[key] = by_profile(backend, config)
        return _shadowed[key]
