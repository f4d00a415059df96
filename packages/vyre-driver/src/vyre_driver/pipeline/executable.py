"""What a dispatch must know about compiled kernels: names, sizes, order. No body, no expression but the host's bounds.

It is much smaller than what it comes from, and has bytes: code that is loaded from a store needs no lowering.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vyre_driver.checked import Fields, read_json, texts
from vyre_driver.device.profile import Extent
from vyre_driver.legalization.schedule import KernelLaunch, Repeat, Step
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, For, Region
from vyre_foundation.wire import decode, encode

if TYPE_CHECKING:
    from vyre_driver.legalization.lowered import Lowered


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """One kernel of an executable.

    Its `name` is that in the module. Its arguments are the bound `buffers`, then the u32 `lengths` of some. `most` is
    how many consecutive workgroups of the dispatch on x one workgroup of the kernel can run.
    """

    name: str
    workgroup_size: Extent
    buffers: tuple[str, ...]
    lengths: tuple[str, ...]
    most: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutableManifest:
    """The buffers, kernels, order and traps of a compiled program.

    `declared`, `inputs` and `outputs` are buffers of the source program by name, in its order. `buffers` are all bound
    ones of the kernels with their declarations, also those that lowering added. `schedule` refers to `entries` by
    position. `traps` are the tags of the trap statements in program order.
    """

    declared: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    buffers: Mapping[str, Buffer]
    entries: tuple[KernelEntry, ...]
    schedule: tuple[Step, ...]
    traps: tuple[str, ...]

    @classmethod
    def of(cls, lowered: Lowered, names: Sequence[str]) -> ExecutableManifest:
        """What stays of `lowered` when its kernels are compiled under these names."""
        source = lowered.source
        return cls(
            declared=_names(source.buffers),
            inputs=_names(source.inputs),
            outputs=_names(source.outputs),
            buffers={name: buffer for name, buffer in lowered.buffers.items() if buffer.memory.is_bound},
            entries=tuple(
                KernelEntry(
                    name,
                    kernel.program.workgroup_size,
                    _bound(kernel.program),
                    kernel.lengths,
                    kernel.arrangement.most,
                )
                for name, kernel in zip(names, lowered.kernels, strict=True)
            ),
            schedule=lowered.schedule,
            traps=lowered.traps,
        )

    def to_bytes(self) -> bytes:
        """Equal executables have equal bytes. Declarations and schedule are written in the wire form of a program."""
        host = Program("", tuple(self.buffers.values()), (1, 1, 1), tuple(_statements(self.schedule)))
        names = {
            "declared": self.declared,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "entries": [[e.name, e.workgroup_size, e.buffers, e.lengths, e.most] for e in self.entries],
            "traps": self.traps,
        }
        return json.dumps(names, separators=(",", ":")).encode() + b"\0" + encode(host)

    @classmethod
    def from_bytes(cls, data: bytes) -> ExecutableManifest:
        """The executable that `to_bytes` wrote. ValueError, LookupError or `WireError` for other bytes."""
        text, _, host = data.partition(b"\0")
        names, program = Fields(read_json(text)), decode(host)
        made = cls(
            declared=names.texts("declared"),
            inputs=names.texts("inputs"),
            outputs=names.texts("outputs"),
            buffers={buffer.name: buffer for buffer in program.buffers},
            entries=tuple(map(_entry, names.items("entries"))),
            schedule=tuple(_steps(program.body)),
            traps=names.texts("traps"),
        )
        made._require_names()
        return made

    def _require_names(self) -> None:
        """`ValueError` if a part refers to another that is not there."""
        named = {*self.declared, *self.buffers}
        for entry in self.entries:
            if missing := {*entry.buffers} - self.buffers.keys() or {*entry.lengths} - named:
                raise ValueError(f"the kernel {entry.name!r} takes {min(missing)!r}, which is no buffer")
        if missing := {*self.inputs, *self.outputs} - {*self.declared}:
            raise ValueError(f"{min(missing)!r} is not declared")
        if unknown := {*_launched(self.schedule)} - {*range(len(self.entries))}:
            raise ValueError(f"there is no kernel {min(unknown)}")


def _entry(row: object) -> KernelEntry:
    if not isinstance(row, list) or len(row) != 5 or not isinstance(row[0], str):
        raise ValueError("a kernel is not a list of five parts that begins with its name")
    name, size, buffers, lengths, most = row
    numbers = [*size, most] if isinstance(size, list) and len(size) == 3 else []
    if not numbers or not all(type(number) is int and 0 < number < 2**32 for number in numbers):
        raise ValueError(f"the kernel {name!r} has no size")
    x, y, z = size
    return KernelEntry(name, (x, y, z), texts(buffers, "buffers"), texts(lengths, "lengths"), most)


def _launched(schedule: Sequence[Step]) -> Iterator[int]:
    for step in schedule:
        match step:
            case KernelLaunch(kernel):
                yield kernel
            case Repeat():
                yield from _launched(step.body)


def _names(buffers: Sequence[Buffer]) -> tuple[str, ...]:
    return tuple(buffer.name for buffer in buffers)


def _bound(program: Program) -> tuple[str, ...]:
    return tuple(buffer.name for buffer in program.buffers if buffer.memory.is_bound)


def _statements(schedule: Sequence[Step]) -> Iterator[For | Region]:
    """A schedule as statements: a loop of the host is a loop, a launch an empty region. Labels are numbers."""
    for step in schedule:
        match step:
            case KernelLaunch(kernel):
                yield Region(str(kernel), ())
            case Repeat():
                yield For(str(step.counter), step.start, step.stop, step.step, tuple(_statements(step.body)))


def _steps(body: Body) -> Iterator[Step]:
    for stmt in body:
        match stmt:
            case Region(label):
                yield KernelLaunch(int(label))
            case For():
                yield Repeat(int(stmt.name), stmt.start, stmt.stop, stmt.step, tuple(_steps(stmt.body)))
            case _:
                raise ValueError(f"a schedule has no {type(stmt).__name__}")
