"""Faults of the engine: what a dispatch begins with, the order of its kernels, what it reads at the end."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from vyre_conform.controls.engine import on_engine
from vyre_conform.controls.fault import Fault, Layer, Plant
from vyre_conform.oracle.evaluators import EVALUATORS
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.launch import NO_TRAP
from vyre_driver.errors import Trapped
from vyre_driver.legalization.lowered import TRAPS
from vyre_driver.testing.fake_port import FakePort
from vyre_foundation.ir.buffer import Memory

Right = Callable[..., Any]
Record = tuple[int, int, int]
"""Invocation, statement, code."""


def _unfilled(memory: Memory) -> Callable[[Right], Right]:
    """Memory of one kind begins as it was left."""

    def wrap(right: Right) -> Right:
        def fills(binding: Any) -> Any:
            buffers = binding.code.executable.buffers
            spared = {binding.allocations[n] for n, b in buffers.items() if b.memory is memory and n != TRAPS}
            return tuple(fill for fill in right(binding) if fill[0] not in spared)

        return fills

    return wrap


def _trap_by(choose: Callable[[Sequence[Record]], Record]) -> Callable[[Right], Right]:
    """Of several traps another one than the first is reported."""

    def wrap(right: Right) -> Right:
        def raise_trap(tags: Sequence[str], sidecar: memoryview, where: str) -> None:
            records = struct.unpack(f"<{len(tags)}Q", sidecar)
            found = [(r >> 32, statement, r & 0xFFFFFFFF) for statement, r in enumerate(records) if r != NO_TRAP]
            if found:
                invocation, statement, code = choose(found)
                raise Trapped(tags[statement], code, invocation, where=where)

        return raise_trap

    return wrap


def _nothing(right: Right) -> Right:
    return lambda *operands: None


def _uploaded_once(right: Right) -> Right:
    """Inputs are taken to the device by the first dispatch of a launch alone."""

    def upload(transfer: Any, *given: Any) -> Any:
        result = right(transfer, *given)
        transfer._uploads = ()
        return result

    return upload


def _filled_once(right: Right) -> Right:
    """Memory is cleared for the first dispatch of a launch alone."""

    def upload(transfer: Any, *given: Any) -> Any:
        result = right(transfer, *given)
        transfer.fills = ()
        return result

    return upload


def _reversed_order(right: Right) -> Right:
    return lambda schedule: None if (found := right(schedule)) is None else found[::-1]


def _last_kernel_lost(right: Right) -> Right:
    return lambda schedule: found if (found := right(schedule)) is None or len(found) < 2 else found[:-1]


def _narrow_counters(right: Right) -> Right:
    return lambda prepared, counter, bits: right(prepared, counter, bits & 0xFFFF_FFFF)


def _lengths_reversed(right: Right) -> Right:
    def args(binding: Any, entry: Any) -> Any:
        given = right(binding, entry)
        split = len(entry.buffers)
        return (*given[:split], *given[split:][::-1])

    return args


def _in_bytes(right: Right) -> Right:
    """Lengths are passed in bytes."""

    def args(binding: Any, entry: Any) -> Any:
        given = right(binding, entry)
        return (*given[: len(entry.buffers)], *(binding.sizes[name] for name in entry.lengths))

    return args


def _memories_by_size(right: Right) -> Right:
    """Buffers of equal sizes are bound in the other order."""

    def args(binding: Any, entry: Any) -> Any:
        given = list(right(binding, entry))
        if len(entry.buffers) > 1 and binding.sizes[entry.buffers[0]] == binding.sizes[entry.buffers[1]]:
            given[0], given[1] = given[1], given[0]
        return tuple(given)

    return args


def _empty_is_one(right: Right) -> Right:
    """A buffer without elements has one."""
    return lambda code, plan: {name: max(1, length) for name, length in right(code, plan).items()}


def _from_the_start(right: Right) -> Right:
    return lambda device, allocation, into, offset=0: right(device, allocation, into, 0)


class Unflushed(EngineBackend, contract=1):
    """A flush returns at once, on a device that works only when a wait makes it."""

    def __init__(self) -> None:
        super().__init__("mutant", lambda: FakePort(EVALUATORS["vector"], is_lazy=True))

    def flush(self) -> None:
        """Nothing."""


_fault = partial(Fault, Layer.ENGINE)
PREPARED = "vyre_driver.engine.launch"
RAISE_TRAP = "vyre_driver.engine.launch:raise_trap"
BINDING = "vyre_driver.engine.bind:LaunchBinding"
COPIES = "vyre_driver.engine.transfer:Copies.upload"

# fmt: off
FAULTS = (
    _fault("outputs-dirty", "outputs begin as rubbish",
           on_engine(f"{BINDING}.fills", _unfilled(Memory.STORAGE)), "memory:untouched_outputs memory:*"),
    _fault("scratch-dirty", "scratch memory begins as rubbish",
           on_engine(f"{BINDING}.fills", _unfilled(Memory.SCRATCH)), "memory:starts_at_zero memory:scatter_inside"),
    _fault("persistent-dirty", "persistent memory of a plain dispatch begins as rubbish",
           on_engine(f"{BINDING}.fills", _unfilled(Memory.PERSISTENT)), "memory:starts_at_zero"),
    _fault("filled-once", "memory is cleared for the first dispatch alone",
           on_engine(COPIES, _filled_once), "memory:starts_at_zero"),
    _fault("uploaded-once", "inputs are uploaded for the first dispatch alone",
           on_engine(COPIES, _uploaded_once), "memory:sizes"),
    _fault("trap-last", "of several traps the last invocation's is reported",
           on_engine(RAISE_TRAP, _trap_by(max)), "traps:*"),
    _fault("trap-by-statement", "of several traps the first statement's is reported",
           on_engine(RAISE_TRAP, _trap_by(lambda found: found[0])), "traps:*"),
    _fault("trap-by-code", "of several traps of an invocation that with the least code is reported",
           on_engine(RAISE_TRAP, _trap_by(lambda found: min(found, key=lambda r: (r[0], r[2])))), "traps:*"),
    _fault("trap-unread", "the record of traps is not read",
           on_engine(f"{PREPARED}:PreparedLaunch.raise_trap", _nothing), "traps:*"),
    _fault("kernels-reversed", "the kernels between grid barriers run in the other order",
           on_engine("vyre_driver.engine.bind:static_order", _reversed_order), "grid:*"),
    _fault("kernel-lost", "the last of several kernels is not launched",
           on_engine("vyre_driver.engine.bind:static_order", _last_kernel_lost), "grid:*"),
    _fault("counter-stuck", "kernels do not get the counters of loops around grid barriers",
           on_engine(f"{PREPARED}:PreparedLaunch._write_counter", _nothing), "grid:*"),
    _fault("counter-narrow", "counters of loops around grid barriers have 32 bits",
           on_engine(f"{PREPARED}:PreparedLaunch._write_counter", _narrow_counters), "temptations:counters_alike"),
    _fault("lengths-reversed", "lengths are passed in the other order",
           on_engine(f"{BINDING}.args", _lengths_reversed), "memory:lengths memory:*"),
    _fault("lengths-in-bytes", "lengths are passed in bytes",
           on_engine(f"{BINDING}.args", _in_bytes), "memory:lengths memory:*"),
    _fault("buffers-swapped", "two buffers of one size are bound in the other order",
           on_engine(f"{BINDING}.args", _memories_by_size), "ops:sub memory:*"),
    _fault("empty-is-one", "a buffer without elements has one",
           on_engine("vyre_driver.engine.bind:_lengths", _empty_is_one), "memory:empty_inputs"),
    _fault("readback-from-start", "a part of a buffer is read back from its start",
           on_engine("vyre_driver.engine.device:Device.copy_out", _from_the_start), "memory:output_range*"),
    _fault("flush-at-once", "a flush returns while dispatches are in flight",
           Plant(Unflushed, "engine-generous"), "claims:flushing"),
)
# fmt: on
