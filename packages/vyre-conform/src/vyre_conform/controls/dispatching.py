"""Faults of the engine: what a dispatch begins with, the order of its kernels, what it reads at the end."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from vyre_conform.controls.engine import NamingPort, emits, in_backend, on_engine, on_port, over
from vyre_conform.controls.evaluated import in_expressions
from vyre_conform.controls.expressions import op
from vyre_conform.controls.fault import Fault, Layer, Plant
from vyre_conform.oracle.evaluators import EVALUATORS
from vyre_driver.backend.resources import Resource
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.launch import NO_TRAP
from vyre_driver.legalization.lowered import Kernel
from vyre_driver.legalization.schedule import COUNTERS, TRAPS
from vyre_driver.testing.fake_port import FakeMemory, FakeModule, FakePort
from vyre_foundation.dtype import u64
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Expr, Literal, Load, literal

Right = Callable[..., Any]
Record = tuple[int, int, int]
"""Invocation, statement, code."""


def _unfilled(kind: Memory) -> Plant:
    """Memory of one kind begins as rubbish, though the engine clears it."""

    class UnfilledPort(NamingPort):
        def __init__(self, *operands: Any, **options: Any) -> None:
            super().__init__(*operands, **options)
            self.cleared: set[FakeMemory] = set()

        def fill(self, memory: FakeMemory, byte: int, size: int) -> None:
            super().fill(memory, byte, size)
            if not byte:
                self.cleared.add(memory)

        def begin(self, kernel: str, buffers: Mapping[FakeMemory, Buffer]) -> None:
            for memory, buffer in buffers.items():
                if memory in self.cleared and buffer.memory is kind:
                    self.fill(memory, 0xA5, len(memory.contents))
            self.cleared.clear()

    return over(UnfilledPort)


def _traps(choose: Callable[[Sequence[Record]], Sequence[Record]]) -> Plant:
    """The host reads some traps alone."""

    class TrapsPort(NamingPort):
        def copy_out(self, memory: FakeMemory, into: memoryview, offset: int = 0) -> None:
            super().copy_out(memory, into, offset)
            if memory in self.buffers and self.buffers[memory].name == TRAPS:
                records = struct.unpack(f"<{into.nbytes // 8}Q", into)
                found = [(r >> 32, statement, r & 0xFFFFFFFF) for statement, r in enumerate(records) if r != NO_TRAP]
                seen = {statement for _, statement, _ in choose(found)} if found else ()
                chosen = [r if statement in seen else NO_TRAP for statement, r in enumerate(records)]
                into[:] = struct.pack(f"<{len(chosen)}Q", *chosen)

    return over(TrapsPort)


def _uploaded_once(right: Right) -> Right:
    """All bytes of a memory are taken to the device by the first dispatch alone."""
    uploaded: set[FakeMemory] = set()

    def copy_in(port: FakePort, memory: FakeMemory, data: memoryview, offset: int = 0) -> None:
        is_whole = data.nbytes == len(memory.contents)
        if not (is_whole and memory in uploaded):
            right(port, memory, data, offset)
        if is_whole:
            uploaded.add(memory)

    return copy_in


def _filled_once(right: Right) -> Right:
    """Memory is cleared for the first dispatch alone."""
    cleared: set[FakeMemory] = set()

    def fill(port: FakePort, memory: FakeMemory, byte: int, size: int) -> None:
        if byte or memory not in cleared:
            right(port, memory, byte, size)
        if not byte:
            cleared.add(memory)

    return fill


def _reversed_order(right: Right) -> Right:
    return lambda schedule: None if (found := right(schedule)) is None else found[::-1]


def _last_kernel_lost(right: Right) -> Right:
    return lambda schedule: found if (found := right(schedule)) is None or len(found) < 2 else found[:-1]


def _counters(change: Callable[[Load], Expr]) -> Plant:
    """Kernels read something else than the counters of loops around grid barriers."""

    def rule(node: Expr) -> Expr:
        return change(node) if isinstance(node, Load) and node.buffer.name == COUNTERS else node

    return emits(in_expressions(rule))


Lengths = tuple[int, ...]
Memories = tuple[FakeMemory, ...]


def _launched(change: Callable[[Kernel, Memories, Lengths], tuple[Memories, Lengths]]) -> Plant:
    """Kernels are launched with other memories and lengths than those of the engine."""

    def wrap(right: Right) -> Right:
        def launch(port: Any, module: FakeModule, name: str, grid: Any, size: Any, args: Any, **options: Any) -> Any:
            kernel, _ = module.kernels[name]
            split = len(args) - len(kernel.lengths)
            memories, lengths = change(kernel, tuple(args[:split]), tuple(args[split:]))
            return right(port, module, name, grid, size, (*memories, *lengths), **options)

        return launch

    return on_port("launch", wrap)


def _lengths_reversed(kernel: Kernel, memories: Memories, lengths: Lengths) -> tuple[Memories, Lengths]:
    return memories, lengths[::-1]


def _in_bytes(kernel: Kernel, memories: Memories, lengths: Lengths) -> tuple[Memories, Lengths]:
    """Lengths are passed in bytes."""
    sizes = [kernel.program.buffer(name).dtype.size for name in kernel.lengths]
    return memories, tuple(length * size for length, size in zip(lengths, sizes, strict=True))


def _memories_by_size(kernel: Kernel, memories: Memories, lengths: Lengths) -> tuple[Memories, Lengths]:
    """Buffers of equal sizes are bound in the other order."""
    match memories:
        case first, second, *rest if len(first.contents) == len(second.contents):
            return (second, first, *rest), lengths
    return memories, lengths


def _empty_is_one(kernel: Kernel, memories: Memories, lengths: Lengths) -> tuple[Memories, Lengths]:
    """A buffer without elements has one."""
    bound = [buffer for buffer in kernel.program.buffers if buffer.memory.is_bound]
    roomy = [
        FakeMemory(bytearray(b"\xa5" * buffer.dtype.size)) if len(memory.contents) < buffer.dtype.size else memory
        for buffer, memory in zip(bound, memories, strict=True)
    ]
    return tuple(roomy), tuple(max(1, length) for length in lengths)


def _from_the_start(right: Right) -> Right:
    return lambda port, memory, into, offset=0: right(port, memory, into, 0)


def _closed_alone(right: Right) -> Right:
    return lambda device: device.port.close()


class Retaining(EngineBackend, contract=1):
    """Resources that are freed live on."""

    def free_resident(self, resource: Resource) -> None:
        """Nothing."""


class Unflushed(EngineBackend, contract=1):
    """A flush returns at once, on a device that works only when a wait makes it."""

    def __init__(self) -> None:
        super().__init__("mutant", lambda: FakePort(EVALUATORS["vector"], is_lazy=True))

    def flush(self) -> None:
        """Nothing."""


_fault = partial(Fault, Layer.ENGINE)

# fmt: off
FAULTS = (
    _fault("outputs-dirty", "outputs begin as rubbish",
           _unfilled(Memory.STORAGE), "memory:untouched_outputs memory:*"),
    _fault("scratch-dirty", "scratch memory begins as rubbish",
           _unfilled(Memory.SCRATCH), "memory:starts_at_zero memory:scatter_inside"),
    _fault("persistent-dirty", "persistent memory of a plain dispatch begins as rubbish",
           _unfilled(Memory.PERSISTENT), "memory:starts_at_zero"),
    _fault("filled-once", "memory is cleared for the first dispatch alone",
           on_port("fill", _filled_once), "memory:starts_at_zero"),
    _fault("uploaded-once", "inputs are uploaded for the first dispatch alone",
           on_port("copy_in", _uploaded_once), "memory:sizes"),
    _fault("trap-last", "of several traps the last invocation's is reported",
           _traps(lambda found: [max(found)]), "traps:*"),
    _fault("trap-by-statement", "of several traps the first statement's is reported",
           _traps(lambda found: found[:1]), "traps:lowest_invocation_before_statement"),
    _fault("trap-by-code", "of several traps of an invocation that with the least code is reported",
           _traps(lambda found: [min(found, key=lambda r: (r[0], r[2]))]), "traps:statement_before_code"),
    _fault("trap-unread", "the record of traps is not read",
           _traps(lambda found: ()), "traps:*"),
    _fault("kernels-reversed", "the kernels between grid barriers run in the other order",
           on_engine("vyre_driver.engine.bind:static_order", _reversed_order), "grid:*"),
    _fault("kernel-lost", "the last of several kernels is not launched",
           on_engine("vyre_driver.engine.bind:static_order", _last_kernel_lost), "grid:*"),
    _fault("counter-stuck", "kernels do not get the counters of loops around grid barriers",
           _counters(lambda load: Literal(load.dtype, 0)), "grid:*"),
    _fault("counter-narrow", "counters of loops around grid barriers have 32 bits",
           _counters(lambda load: op("and", load, literal(u64, 0xFFFF_FFFF))), "temptations:counters_alike"),
    _fault("lengths-reversed", "lengths are passed in the other order",
           _launched(_lengths_reversed), "memory:lengths memory:*"),
    _fault("lengths-in-bytes", "lengths are passed in bytes",
           _launched(_in_bytes), "memory:lengths memory:*"),
    _fault("buffers-swapped", "two buffers of one size are bound in the other order",
           _launched(_memories_by_size), "ops:sub memory:*"),
    _fault("empty-is-one", "a buffer without elements has one",
           _launched(_empty_is_one), "memory:empty_inputs"),
    _fault("readback-from-start", "a part of a buffer is read back from its start",
           on_port("copy_out", _from_the_start), "memory:output_range*"),
    _fault("flush-at-once", "a flush returns while dispatches are in flight",
           Plant(Unflushed, "engine-generous"), "claims:flushing"),
    _fault("resources-kept", "resources that are freed keep their memory",
           in_backend(Retaining), "claims:freed_memory"),
    _fault("shutdown-keeps", "a device is closed with its memory",
           on_engine("vyre_driver.engine.device:Device.close", _closed_alone), "claims:freed_memory"),
)
# fmt: on
