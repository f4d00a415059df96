"""Entry points: the ways in which the contract lets a caller run a program. All give the same bytes.

What a backend does not offer it refuses with `UnsupportedFeature`; that is a cell of its own, neither pass nor fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import lazy_loader

from vyre_conform import worker
from vyre_conform.case import Launch
from vyre_conform.worker import over_memory
from vyre_conform.worker.canary import GuardedBytes, foul, guarded_memory, names_of
from vyre_conform.worker.claiming import NotExercised
from vyre_conform.worker.sessions import SESSIONS
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.pipeline.compile import compile
from vyre_foundation.errors import VyreError

if TYPE_CHECKING:
    import asyncio
else:  # one way in of many needs it
    asyncio = lazy_loader.load("asyncio")

THREADS, REPEATS = 4, 3
CLAIM = "claim_"
"""What the names of checks begin with, which end in a dispatch."""

Outputs = Sequence[Any]
"""One buffer of bytes for each output."""
Enter = Callable[[VyreBackend, Launch, Sequence[bytearray]], Outputs]


class NotTheSame(VyreError):
    """Dispatches that run at the same time do not all give the same bytes."""

    code = "E1207"


def _dispatch(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    return backend.dispatch(launch.program, inputs, launch.config)


def _borrowed(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """The caller changes the inputs as soon as the call has returned."""
    mine = [bytearray(data) for data in inputs]
    outputs = backend.dispatch_borrowed(launch.program, mine, launch.config)
    for data in mine:
        data[:] = foul(data)
    return outputs


def _timed(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    return backend.dispatch_borrowed_timed(launch.program, inputs, launch.config).outputs


def _into(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """Into slots of the right sizes, which are kept."""
    slots: list[Any] = [
        bytearray(b"\xff" * len(out)) for out in backend.dispatch(launch.program, inputs, launch.config)
    ]
    backend.dispatch_borrowed_into(launch.program, inputs, launch.config, slots)
    return slots


def _canaries(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """Inputs and outputs are windows of larger buffers whose rest must stay what it is; so is the device's memory."""
    windows = [GuardedBytes(bytes(data)) for data in inputs]
    with guarded_memory(backend):
        sizes = [len(out) for out in backend.dispatch(launch.program, inputs, launch.config)]
        slots = [GuardedBytes(b"\xff" * size) for size in sizes]
        views: list[Any] = [slot.inside for slot in slots]
        backend.dispatch_borrowed_into(launch.program, [w.inside for w in windows], launch.config, views)
    for name, window in (*zip(names_of(launch.program.inputs), windows, strict=True),
                         *zip(names_of(launch.program.outputs), slots, strict=True)):  # fmt: skip
        window.check(name)
    for window, data in zip(windows, inputs, strict=True):
        data[:] = window.inside
    return views


def _asynchronous(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """Several in flight, awaited from the last to the first, each twice."""
    pending = [backend.dispatch_async(launch.program, inputs, launch.config) for _ in range(REPEATS)]
    results = [handle.await_result() for handle in reversed(pending)]
    return _same([*results, pending[0].await_result()])


def _awaited(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """In an event loop; the caller changes the inputs at once."""

    async def both() -> list[Outputs]:
        found: list[Outputs] = []
        for _ in range(2):
            mine = [bytearray(data) for data in inputs]
            pending = backend.dispatch_borrowed_async(launch.program, mine, launch.config)
            for data in mine:
                data[:] = foul(data)
            found.append(await pending)
        return found

    return _same(asyncio.run(both()))


def _compiled(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """A pipeline; memory that persists would be another program, so each dispatch has a pipeline of its own."""
    with compile(backend, launch.program, launch.config) as pipeline:
        return pipeline.dispatch(inputs, launch.config)


def _batched(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    with compile(backend, launch.program, launch.config) as pipeline:
        return _same(pipeline.dispatch_batched([list(inputs)] * REPEATS, launch.config))


def _threads(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """From several threads at once. Half of them have other inputs, and what those get is not judged."""
    others = [_turned(data, b.dtype.size) for data, b in zip(inputs, launch.program.inputs, strict=True)]
    results: list[Outputs] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            results.extend(backend.dispatch(launch.program, inputs, launch.config) for _ in range(REPEATS))
        except Exception as error:
            errors.append(error)

    def disturb() -> None:
        for _ in range(REPEATS):
            with suppress(VyreError):  # of other inputs a program may trap
                backend.dispatch(launch.program, others, launch.config)

    threads = [threading.Thread(target=target) for _ in range(THREADS // 2) for target in (disturb, work)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return _same(results)


def _turned(data: bytearray, size: int) -> bytearray:
    """The elements of `size` bytes in another order, so that no index or number of iterations is larger."""
    return data[size:] + data[:size]


def _budgeted(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """With functions of the device's own. Code that is the same without a budget is what another case judges."""
    show = getattr(backend, "emitted_source", None)
    budgets = (launch.config, replace(launch.config, ulp_budget=0))
    if show is None or len({show(launch.program, config).text for config in budgets}) == 1:
        fix = "if it has any, measure them, which says what a budget takes, and run with the store: VYRE_CACHE=ro"
        raise NotExercised("within the budget no function of the device's own is taken", fix=fix)
    return backend.dispatch(launch.program, inputs, launch.config)


def _split(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """Run two dispatches, each with a part of the grid on x.

    The input `first` says where it begins; each element of the outputs is written by one of them, and zero in the
    other.
    """
    assert launch.grid is not None
    groups, y, z = launch.grid
    place = names_of(launch.program.inputs).index("first")
    total: list[int] = []
    for first, count in ((0, groups // 2), (groups // 2, groups - groups // 2)):
        given = list(inputs)
        given[place] = bytearray(first.to_bytes(4, "little"))
        config = replace(launch.config, grid_override=(count, y, z))
        outputs = backend.dispatch(launch.program, given, config)
        words = [int.from_bytes(bytes(data), "little") for data in outputs]
        total = [a | b for a, b in zip(total, words, strict=True)] if total else words
        sizes = [len(data) for data in outputs]
    return [word.to_bytes(size, "little") for word, size in zip(total, sizes, strict=True)]


def _same(results: Sequence[Outputs]) -> Outputs:
    first = [bytes(data) for data in results[0]]
    for number, other in enumerate(results[1:], 1):
        if [bytes(data) for data in other] != first:
            raise NotTheSame(f"dispatch {number} of {len(results)} differs from the first", fix="look for shared state")
    return first


def _claim(check: Callable[[VyreBackend], None]) -> Enter:
    def enter(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
        check(backend)
        return backend.dispatch(launch.program, inputs, launch.config)

    return enter


ENTRIES: Mapping[str, Enter] = {
    "dispatch": _dispatch,
    "borrowed": _borrowed,
    "timed": _timed,
    "into": _into,
    "canaries": _canaries,
    "asynchronous": _asynchronous,
    "awaited": _awaited,
    "compiled": _compiled,
    "batched": _batched,
    "threads": _threads,
    "split": _split,
    "budgeted": _budgeted,
    "resident": over_memory.resident,
    "sequence": over_memory.sequence,
    "device_buffers": over_memory.device_buffers,
    **SESSIONS,
}
"""Ways in by name."""


def entry_of(name: str) -> Enter:
    """The way in of a name, or the check of what a backend says of itself, which ends in a dispatch as well.

    Raises:
        KeyError: There is none.
    """
    if not name.startswith(CLAIM):
        return ENTRIES[name]
    return _claim(worker.claims.CLAIMS[name.removeprefix(CLAIM)])  # which import more than all ways in
