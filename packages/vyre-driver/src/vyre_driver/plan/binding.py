"""What each buffer of a program is to a dispatch: its role, its place among arguments, inputs and outputs, its size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from blake3 import blake3

from vyre_driver.plan.lengths import fixed_lengths, input_lengths
from vyre_foundation.dtype import DType
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.program import Program


class BindingRole(Enum):
    """Who fills a buffer, and who gets it."""

    INPUT = "input"
    OUTPUT = "output"
    INPUT_OUTPUT = "input and output"
    UNIFORM = "uniform"
    SHARED = "shared"
    """Of the workgroup: no argument."""
    PERSISTENT = "persistent"
    SCRATCH = "scratch"

    @property
    def takes_input(self) -> bool:
        """Whether the host gives its contents."""
        return self in (BindingRole.INPUT, BindingRole.INPUT_OUTPUT, BindingRole.UNIFORM)

    @property
    def gives_output(self) -> bool:
        """Whether the host gets its contents."""
        return self in (BindingRole.OUTPUT, BindingRole.INPUT_OUTPUT)


class BackendLayoutClass(Enum):
    """How a kernel's argument is bound, where runtimes tell the two apart."""

    STORAGE = "storage"
    UNIFORM = "uniform"


@dataclass(frozen=True, slots=True)
class BackendLayoutSlot:
    """One argument as a runtime's description of layouts has it."""

    binding: int
    kind: BackendLayoutClass
    read_only: bool
    element_size: int


@dataclass(frozen=True, slots=True)
class BackendLayoutFingerprint:
    """All slots by binding number: arguments of one such layout fit every program that has an equal one."""

    slots: tuple[BackendLayoutSlot, ...]


@dataclass(frozen=True, slots=True)
class BindingSetFingerprint:
    """(binding number, role, bytes of an element) of every argument, in order: what a caller must know to bind."""

    triples: tuple[tuple[int, str, int], ...]

    def digest(self) -> str:
        """A text that is equal in every process."""
        return str(blake3(repr(self.triples).encode()).hexdigest(16))


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One buffer. `binding` is None and `index` its position among the declarations, for memory of the workgroup too.

    `element_count` is None until a launch decides it, `byte_len` likewise. `input` and `output` are its positions among
    the inputs and outputs of a dispatch, None where it is none. `alignment` is what its elements need, in bytes.
    """

    name: str
    binding: int | None
    index: int
    role: BindingRole
    element_size: int
    element_count: int | None = None
    input: int | None = None
    output: int | None = None
    is_read_only: bool = False

    @property
    def byte_len(self) -> int | None:
        """The buffer's size in bytes; None while the element count is open."""
        return None if self.element_count is None else self.element_count * self.element_size

    @property
    def alignment(self) -> int:
        """In bytes: the size of one element, at least 1."""
        return max(1, self.element_size)


@dataclass(frozen=True, slots=True)
class BindingPlan:
    """The arguments of a dispatch by binding number, behind them what is shared by workgroups."""

    bindings: tuple[Binding, ...]

    @classmethod
    def of(cls, program: Program, lengths: Mapping[str, int] = MappingProxyType({})) -> BindingPlan:
        """The plan for element counts by name; what is neither there nor declared stays open."""
        inputs = {buffer.name: n for n, buffer in enumerate(program.inputs)}
        outputs = {buffer.name: n for n, buffer in enumerate(program.outputs)}
        found = [
            Binding(
                name=buffer.name,
                binding=buffer.binding,
                index=index,
                role=role,
                element_size=element_size_bytes(buffer.dtype),
                element_count=lengths.get(buffer.name, buffer.count if isinstance(buffer.count, int) else None),
                input=inputs.get(buffer.name),
                output=outputs.get(buffer.name),
                is_read_only=buffer.access is Access.READ,
            )
            for index, buffer in enumerate(program.buffers)
            if (role := role_of(buffer)) is not None
        ]
        return cls(tuple(sorted(found, key=lambda b: (b.binding is None, b.binding or 0))))

    @classmethod
    def from_input_lengths(cls, program: Program, byte_lengths: Sequence[int]) -> BindingPlan:
        """The plan for inputs of these lengths, in binding order; `InvalidInput` for those that do not fit."""
        return cls.of(program, fixed_lengths(program, input_lengths(program, byte_lengths)))

    @property
    def inputs(self) -> tuple[Binding, ...]:
        """The buffers that the host provides, in binding order; one that is also written is among `outputs` too."""
        return tuple(b for b in self.bindings if b.input is not None)

    @property
    def outputs(self) -> tuple[Binding, ...]:
        """The buffers that the host receives, in binding order."""
        return tuple(b for b in self.bindings if b.output is not None)

    @property
    def shared(self) -> tuple[Binding, ...]:
        """Memory of the workgroup, which the host neither provides nor receives."""
        return tuple(b for b in self.bindings if b.role is BindingRole.SHARED)

    def fingerprint(self) -> BindingSetFingerprint:
        """What two programs must have in common to be bound alike."""
        return BindingSetFingerprint(
            tuple((b.binding, b.role.value, b.element_size) for b in self.bindings if b.binding is not None)
        )

    def layout(self) -> BackendLayoutFingerprint:
        """The same in the words of runtimes with layouts of arguments."""
        return BackendLayoutFingerprint(
            tuple(
                BackendLayoutSlot(
                    b.binding,
                    BackendLayoutClass.UNIFORM if b.role is BindingRole.UNIFORM else BackendLayoutClass.STORAGE,
                    b.is_read_only,
                    b.element_size,
                )
                for b in self.bindings
                if b.binding is not None
            )
        )


def role_of(buffer: Buffer) -> BindingRole | None:
    """The role of a declaration; None for memory that is neither bound nor shared by a workgroup."""
    match buffer.memory, buffer.access:
        case Memory.WORKGROUP, _:
            return BindingRole.SHARED
        case Memory.PERSISTENT, _:
            return BindingRole.PERSISTENT
        case Memory.SCRATCH, _:
            return BindingRole.SCRATCH
        case Memory.UNIFORM, _:
            return BindingRole.UNIFORM
        case Memory.STORAGE, Access.READ:
            return BindingRole.INPUT
        case Memory.STORAGE, Access.WRITE:
            return BindingRole.OUTPUT
        case Memory.STORAGE, _:
            return BindingRole.INPUT_OUTPUT
        case _:
            return None


def binding_plans_share_layout(first: BindingPlan, second: BindingPlan) -> bool:
    """Whether what is bound for the one can be bound for the other."""
    return first.fingerprint() == second.fingerprint()


def element_size_bytes(dtype: DType) -> int:
    """Bytes that an element takes in memory."""
    return dtype.size


def dispatch_element_count(bindings: BindingPlan) -> int:
    """The elements that a launch must cover: those of its longest output, or one where there is none."""
    return max((b.element_count or 0 for b in bindings.outputs), default=1)


def dispatch_element_count_for_program(program: Program, lengths: Mapping[str, int]) -> int:
    """The same for a program and element counts by name."""
    return dispatch_element_count(BindingPlan.of(program, lengths))
