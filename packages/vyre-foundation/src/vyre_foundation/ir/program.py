"""A program: declarations, a workgroup shape and a body. It has no grid; that is a fact of the launch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from vyre_foundation.cached import cached_property
from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir.argument import require
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.code import Code, code
from vyre_foundation.ir.integer import integer
from vyre_foundation.ir.kinds import naming_wrong_kinds
from vyre_foundation.ir.memo import Memo
from vyre_foundation.ir.origin import Origins
from vyre_foundation.ir.shapes import Shapes
from vyre_foundation.ir.stmt import Body, Stmt
from vyre_foundation.ir.walk import expressions, statements

if TYPE_CHECKING:
    from vyre_foundation.validate import Facts


S = TypeVar("S", bound=Stmt)


@dataclass(frozen=True, repr=False)
class Program(Memo):
    """An immutable program. `buffers` are in binding order, then those without a binding.

    `workgroup_size` is (x, y, z); `subgroup_size` is a power of two that divides its volume, or None for a program
    that does not use subgroups. Two programs are equal when all of these are.
    """

    name: str
    buffers: tuple[Buffer, ...]
    workgroup_size: tuple[int, int, int]
    body: Body
    subgroup_size: int | None = None

    def __post_init__(self) -> None:
        size: object = self.workgroup_size
        subgroup = self.subgroup_size
        if not (isinstance(size, tuple) and len(size) == 3):
            message = f"got the workgroup size {size!r}, expected a tuple of three integers"
            raise DeclarationError(message, fix="pass (x, y, z)", where=f"program {self.name!r}")
        fields: dict[str, object] = {"buffers": self.buffers, "body": self.body}
        for field, given in fields.items():
            if not isinstance(given, tuple):
                message = f"got {type(given).__name__} as the {field}, expected a tuple"
                raise DeclarationError(message, fix="pass a tuple", where=f"program {self.name!r}")
        buffers: tuple[object, ...] = self.buffers
        foreign = next((type(x).__name__ for x in buffers if not isinstance(x, Buffer)), None)
        if foreign is not None:
            message = f"got {foreign} among the buffers, expected a Buffer"
            raise DeclarationError(message, fix="pass declarations", where=f"program {self.name!r}")
        if any(type(n) is not int for n in size):
            exact = tuple([integer(f"program {self.name!r}", "workgroup size", n) for n in size])
            object.__setattr__(self, "workgroup_size", exact)
        if subgroup is not None and type(subgroup) is not int:
            object.__setattr__(self, "subgroup_size", integer(f"program {self.name!r}", "subgroup size", subgroup))

    @cached_property
    def _by_name(self) -> dict[str, Buffer]:
        return {b.name: b for b in self.buffers}

    def buffer(self, name: str) -> Buffer:
        """The buffer called `name` (KeyError if there is none)."""
        return self._by_name[name]

    @cached_property
    def inputs(self) -> tuple[Buffer, ...]:
        """The buffers that the host provides, in binding order."""
        return tuple(b for b in self.buffers if b.is_input)

    @cached_property
    def outputs(self) -> tuple[Buffer, ...]:
        """The buffers that the host receives, in binding order."""
        return tuple(b for b in self.buffers if b.is_output)

    @cached_property
    def ranged_outputs(self) -> tuple[Buffer, ...]:
        """The outputs of which the host receives a range of bytes."""
        return tuple(b for b in self.outputs if b.output_range is not None)

    @cached_property
    def statements(self) -> tuple[Stmt, ...]:
        """Every statement, outer before inner, in program order. Computed once."""
        with naming_wrong_kinds(self.name, self.body):
            return tuple(statements(self.body))

    def of(self, kind: type[S]) -> Sequence[S]:
        """The statements of one kind, in program order."""
        return self._by_kind.get(kind, ())

    @cached_property
    def _by_kind(self) -> Mapping[type, Sequence[Any]]:
        found: defaultdict[type, list[Any]] = defaultdict(list)
        for stmt in self.statements:
            found[stmt.__class__].append(stmt)
        return found

    @cached_property
    def code(self) -> Code:
        """All expressions that the statements evaluate, in program order. Computed once."""
        with naming_wrong_kinds(self.name, self.body):
            return code(e for stmt in self.statements for e in expressions(stmt))

    def with_code(self, code: Code) -> Program:
        """This program, which need not find its code: who has made it knows it."""
        vars(self)["code"] = code
        return self

    @property
    def origins(self) -> Origins | None:
        """The Python lines that recorded the program, if it was built and not read; not part of its meaning."""
        return vars(self).get("_origins")

    def with_origins(self, origins: Origins | None) -> Program:
        """This program, whose messages name these lines."""
        if origins is not None:
            require(self.with_origins, Origins, origins)
        vars(self)["_origins"] = origins
        return self

    @property
    def shapes(self) -> Shapes | None:
        """The shapes of the buffers, if the program was built with shapes and not read; not part of its meaning."""
        return vars(self).get("_shapes")

    def with_shapes(self, shapes: Shapes | None) -> Program:
        """This program, whose launches take and give arrays of these shapes."""
        if shapes is not None:
            require(self.with_shapes, Shapes, shapes)
        vars(self)["_shapes"] = shapes
        return self

    @property
    def workgroup_volume(self) -> int:
        """Invocations per workgroup."""
        x, y, z = self.workgroup_size
        return x * y * z

    def __repr__(self) -> str:
        try:
            statements = f"{len(self.statements)} statements"
        except DeclarationError:  # something in the body is no statement
            statements = f"{len(self.body)} statements at the top"
        return f"<Program {self.name!r}: {len(self.buffers)} buffers, {statements}>"

    # Methods that `vyre_foundation.methods` adds, because what computes them lies above this package.

    validate: ClassVar[Callable[[Program], Facts]]
    """The facts that later stages need, or `InvalidProgram` with all findings. Computed once."""

    encode: ClassVar[Callable[[Program], bytes]]
    """The wire form. Computed once."""

    fingerprint: ClassVar[Callable[[Program], str]]
    """BLAKE3 of the canonical program in hexadecimal; the same however and wherever it was built. Computed once."""
