"""The role of each buffer in a dispatch: its position among arguments, inputs and outputs, and its size."""

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
    """Whether the host provides the contents of a buffer, and whether it receives them."""

    INPUT = "input"
    OUTPUT = "output"
    INPUT_OUTPUT = "input and output"
    UNIFORM = "uniform"
    SHARED = "shared"
    """Memory of the workgroup, which is not an argument."""
    PERSISTENT = "persistent"
    SCRATCH = "scratch"

    @property
    def takes_input(self) -> bool:
        """Whether the host provides the contents."""
        return self in (BindingRole.INPUT, BindingRole.INPUT_OUTPUT, BindingRole.UNIFORM)

    @property
    def gives_output(self) -> bool:
        """Whether the host receives the contents."""
        return self in (BindingRole.OUTPUT, BindingRole.INPUT_OUTPUT)


class BackendLayoutClass(Enum):
    """How an argument of a kernel is bound, for runtimes that distinguish the two."""

    STORAGE = "storage"
    UNIFORM = "uniform"


@dataclass(frozen=True, slots=True)
class BackendLayoutSlot:
    """An argument in the description of a layout, as runtimes use it."""

    binding: int
    kind: BackendLayoutClass
    read_only: bool
    element_size: int


@dataclass(frozen=True, slots=True)
class BackendLayoutFingerprint:
    """All slots by binding number. Programs with equal layouts accept the same arguments."""

    slots: tuple[BackendLayoutSlot, ...]


@dataclass(frozen=True, slots=True)
class BindingSetFingerprint:
    """The binding number, role and element size in bytes of every argument, in order."""

    triples: tuple[tuple[int, str, int], ...]

    def digest(self) -> str:
        """A text that is equal in every process."""
        return str(blake3(repr(self.triples).encode()).hexdigest(16))


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A buffer of a dispatch.

    `binding` is its binding number, None for memory of the workgroup. `index` is its position among the declarations.
    `element_count` and `byte_len` are None until a launch determines them. `input` and `output` are its positions among
    the inputs and outputs of a dispatch, or None. `alignment` is the alignment of its elements in bytes.
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
        """The size of the buffer in bytes; None if the element count is not known."""
        return None if self.element_count is None else self.element_count * self.element_size

    @property
    def alignment(self) -> int:
        """The alignment in bytes: the size of an element, at least 1."""
        return max(1, self.element_size)


@dataclass(frozen=True, slots=True)
class BindingPlan:
    """The arguments of a dispatch by binding number, and after them the memory of the workgroup."""

    bindings: tuple[Binding, ...]

    @classmethod
    def of(cls, program: Program, lengths: Mapping[str, int] = MappingProxyType({})) -> BindingPlan:
        """Return the plan for element counts by name. Other counts are those of declarations, or unknown."""
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
        """Return the plan for inputs of these sizes in binding order, or raise `InvalidInput` if they are invalid."""
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
        """The facts that two programs must share to be bound in the same way."""
        return BindingSetFingerprint(
            tuple((b.binding, b.role.value, b.element_size) for b in self.bindings if b.binding is not None)
        )

    def layout(self) -> BackendLayoutFingerprint:
        """The same, for runtimes with layouts of arguments."""
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
    """Return the role of a declaration; None for memory that is neither bound nor of the workgroup."""
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


def host_buffers(program: Program) -> tuple[Buffer, ...]:
    """Return the inputs and outputs of a program in binding order. A buffer that is both comes once."""
    return tuple([buffer for buffer in program.buffers if buffer.memory.is_host_visible])


def binding_plans_share_layout(first: BindingPlan, second: BindingPlan) -> bool:
    """Return whether the arguments for one plan can be bound for the other."""
    return first.fingerprint() == second.fingerprint()


def element_size_bytes(dtype: DType) -> int:
    """Return the size of an element in memory in bytes."""
    return dtype.size


def dispatch_element_count(bindings: BindingPlan) -> int:
    """Return the number of elements that a launch must cover: that of its longest output, or 1 without outputs."""
    return max((b.element_count or 0 for b in bindings.outputs), default=1)


def dispatch_element_count_for_program(program: Program, lengths: Mapping[str, int]) -> int:
    """Return the number of elements that a launch of a program must cover, for element counts by name."""
    return dispatch_element_count(BindingPlan.of(program, lengths))
