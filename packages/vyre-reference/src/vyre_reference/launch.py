"""One launch from inputs to outputs: plan, memory, evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.results import Outputs, host_bytes
from vyre_driver.backend.typed import as_arrays, ordered_inputs, require_whole_elements, shaped
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput
from vyre_driver.observe.races import Race, find_race
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program
from vyre_reference import scalar, vector
from vyre_reference.bind import HostMemory
from vyre_reference.budget import Budget
from vyre_reference.errors import DataRace
from vyre_reference.place import describe, origin_of
from vyre_reference.scalar.races import Races

if TYPE_CHECKING:
    import numpy.typing as npt


class Evaluator(Protocol):
    """`scalar.evaluate`, `vector.evaluate`, or one of them with options bound."""

    def __call__(self, plan: LaunchPlan, memory: HostMemory, *, budget: Budget | None = None) -> None:
        """Run the launch that `plan` describes over `memory`; `budget` ends it when its time is over."""
        ...


def run(
    program: Program,
    arrays: Mapping[str, object],
    config: DispatchConfig = DEFAULT_CONFIG,
    evaluate: Evaluator = vector.evaluate,
) -> dict[str, npt.NDArray[Any]]:
    """The outputs of `program` by name for input arrays by name, as `VyreBackend.dispatch_arrays` gives them.

    `InvalidInput` for an output range that cuts an element.
    """
    require_whole_elements(program)
    inputs = [host_bytes(b.name, a) for b, a in zip(program.inputs, ordered_inputs(program, arrays), strict=True)]
    outputs = launch(program, inputs, config, evaluate)
    return shaped(program, arrays, as_arrays(program, outputs))


def detect_races(
    program: Program,
    arrays: Mapping[str, object],
    config: DispatchConfig = DEFAULT_CONFIG,
    backend: VyreBackend | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """As `run`, after a search for data races.

    Args:
        program: A valid program.
        arrays: The inputs by buffer name.
        config: The options of the dispatch.
        backend: Runs the program with a shadow of its memory (`vyre_driver.observe.races`), then the program. Without
            one the scalar evaluator compares every access with those that no barrier orders before it, which takes
            hundreds of times as long.

    Returns:
        The outputs by buffer name.

    Raises:
        DataRace: Two invocations race; the error names both, the buffer, the index and the statements.
        VyreError: What `run` raises.
    """
    if backend is None:
        return run(program, arrays, config, partial(scalar.evaluate, races=Races.DETECT))
    race = find_race(backend, program, arrays, config)
    if race is not None:
        raise _data_race(program, race)
    return backend.dispatch_arrays(program, arrays, config)


def _data_race(program: Program, race: Race) -> DataRace:
    if race.accesses is None:
        return DataRace(race.buffer, race.index)
    first, second = ((a.invocation, a.touch.value, describe(program.body, a.path)) for a in race.accesses)
    one, other = (origin_of(program, a.path) for a in race.accesses)
    return DataRace(race.buffer, race.index, first, second, origins=(one, other))


def launch(
    program: Program,
    inputs: Sequence[memoryview],
    config: DispatchConfig,
    evaluate: Evaluator,
    *,
    backend: str = "reference",
    persistent: dict[str, bytearray] | None = None,
) -> Outputs:
    """Fresh bytes for every output, for the bytes of every input, both in binding order.

    `persistent` is the persistent memory of a pipeline; buffers that it lacks enter it, zeroed.
    """
    grid = None if config.grid_override is not None else read_indirect_grid(program, inputs)
    plan = plan_launch(program, [view.nbytes for view in inputs], config, indirect_grid=grid)
    memory = host_memory(plan, inputs, {} if persistent is None else persistent)
    evaluate(plan, memory, budget=Budget(seconds=config.timeout, backend=backend))
    return [memoryview(memory[output.buffer])[output.start : output.stop] for output in plan.outputs]


def host_memory(
    plan: LaunchPlan, inputs: Sequence[memoryview], persistent: dict[str, bytearray]
) -> dict[str, memoryview | bytearray]:
    """The bytes of every bound buffer: inputs (copies of those that are written), zeros for the rest."""
    given = dict(zip(plan.inputs, inputs, strict=True))
    memory: dict[str, memoryview | bytearray] = {}
    for buffer in plan.program.buffers:
        size = plan.byte_length(buffer.name)
        if buffer.name in given:
            memory[buffer.name] = bytearray(given[buffer.name]) if buffer.access.writes else given[buffer.name]
        elif buffer.memory is Memory.PERSISTENT:
            memory[buffer.name] = persistent.setdefault(buffer.name, zeros(size))
            _require_same_size(buffer.name, len(persistent[buffer.name]), size)
        elif buffer.memory.is_bound:
            memory[buffer.name] = zeros(size)
    return memory


def zeros(size: int) -> bytearray:
    """Fresh memory, or the error that every backend raises when there is not that much."""
    try:
        return bytearray(size)
    except MemoryError:
        raise DeviceOutOfMemory(size) from None


def _require_same_size(name: str, held: int, size: int) -> None:
    if held != size:
        needed = f"{held} bytes, as in the pipeline's first dispatch"
        fix = "dispatch with inputs of the same lengths, or compile another pipeline"
        raise InvalidInput(name, needed=needed, got=f"{size} bytes", fix=fix)
