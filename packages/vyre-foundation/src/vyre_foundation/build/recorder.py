"""The builder: collects the declarations and statements of a program."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from vyre_foundation.build.declarations import DeclarationRecorder
from vyre_foundation.build.positions import PositionRecorder
from vyre_foundation.build.tidy import adjacent_lets, drop_unused_results, inline
from vyre_foundation.build.unopened import without_effect
from vyre_foundation.dtype import u32
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.origin import Line, Origins
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE, Axis
from vyre_foundation.ir.stmt import MAX_NESTING, Body, If
from vyre_foundation.ir.walk import nesting, statements


class ProgramBuilder(DeclarationRecorder, PositionRecorder):
    """Records buffers and statements; `build()` returns the program. Made by `program(…)`.

    Arguments are checked at once: `BuildError`, `TypeMismatch`, `LiteralOutOfRange` and `DeclarationError` are raised
    at the caller's line. Errors that only the whole program shows are findings of `build`.
    """

    def __repr__(self) -> str:
        return f"<ProgramBuilder {self.name!r}: {len(self._buffers)} buffers, {len(self._lines[0])} statements>"

    def __enter__(self) -> ProgramBuilder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = "its `with` block has ended"
        if kind is None and len(self._bodies) != 1:
            raise BuildError("a block is still open at the end of the program", fix="leave every `with p.if_(…)` block")

    def build(self) -> Program:
        """Validate and return the program. The builder records nothing after that.

        Returns:
            The program, which is immutable.

        Raises:
            InvalidProgram: The program breaks a rule; the error lists every finding with the line that wrote it.
            BuildError: A line has no effect: no `with` statement opens a block, nothing is recorded in one of `if_`, or
                a variable is never set.
        """
        self._refuse_without_effect()
        result = self.build_unchecked()
        result.validate()
        self._ended = self._ended or "build() has given it"
        return result

    def build_unchecked(self) -> Program:
        """Return the program without validating it.

        Returns:
            The program, which `validate` may refuse.

        Raises:
            BuildError: A block is open.
        """
        if len(self._bodies) != 1:
            raise BuildError("a block is still open", fix="build after the `with` block has ended")
        body, lines = tuple(self._bodies[0]), tuple(self._lines[0])
        declared, declared_lines = list(self._buffers), list(self._buffer_lines)
        has_shapes = self._shapes.buffers or self._shapes.stated is not None
        shapes = self._shapes.shapes() if has_shapes else None
        table = None
        if shapes is not None and shapes.passed:
            binding = sum(b.binding is not None for b in declared)
            table = Buffer(LAUNCH_SHAPE, u32, Access.READ, Memory.UNIFORM, len(shapes.passed), binding)
            declared.append(table)
            declared_lines.append(self.line or self._line)
        if nesting(body) <= MAX_NESTING:  # deeper, Python's stack may overflow here; `validate` refuses it
            body, lines = self._tidied(body if shapes is None else self._shapes.resolve(body, table), lines)
        order = sorted(range(len(declared)), key=lambda n: declared[n].binding is None)
        buffers = tuple([declared[n] for n in order])
        result = Program(self.name, buffers, self.workgroup_size, body, self.subgroup_size)
        if shapes is not None:
            result.with_shapes(shapes)
        return result.with_origins(Origins(self.line or self._line, [declared_lines[n] for n in order], lines))

    def _tidied(self, body: Body, lines: tuple[Line, ...]) -> tuple[Body, tuple[Line, ...]]:
        """Statements and their lines, without names that nothing reads and temporaries that are used at once."""
        body = drop_unused_results(body)
        inlined = adjacent_lets(body, self._temporaries)
        if not inlined:
            return body, lines
        pairs = zip(statements(body), lines, strict=True)
        return inline(body, inlined), tuple([line for stmt, line in pairs if id(stmt) not in inlined])

    def _refuse_without_effect(self) -> None:
        """Lines that Python accepts and the program does not have."""
        found = self._unopened.findings()
        for variable, line in self._variables:
            if not variable._is_set:
                fix = (
                    "change it with .set(…) or `+=`, as `name = …` only names something else; or make it with p.let(…)"
                )
                found.append((line, f"the variable of p.var(…), {variable!r}, is never set", fix))
        if self._has_empty_branch:
            fix = "store or .set(…) in it, as `name = …` only names a value; or leave the block out"
            for stmt, line in zip(statements(tuple(self._bodies[0])), self._lines[0], strict=True):
                if isinstance(stmt, If) and not stmt.then and not stmt.orelse:
                    found.append((line, "nothing is recorded in the block of this condition", fix))
        if found:
            raise without_effect(found)


def program(
    name: str,
    workgroup_size: int | Sequence[int] = 64,
    subgroup_size: int | None = None,
    *,
    shape: Axis | Sequence[Axis] | None = None,
) -> ProgramBuilder:
    """Begin a program, as in ``with vy.program("xor", workgroup_size=64) as p``.

    Args:
        name: Any text.
        workgroup_size: Invocations per workgroup on (x, y, z), on fewer axes, or on x alone (V010, V011).
        subgroup_size: A power of two in 1 … 64 that divides them, for programs with collectives.
        shape: The shape of the launch, as that of a buffer: the last axis is x of the grid, the one before it y, and
            all others together are z. By default the shape of the first output, if that has at most three axes; without
            one, the lengths of the outputs determine the number of invocations.

    Returns:
        The builder.

    Raises:
        BuildError: An argument is invalid.
    """
    return ProgramBuilder(name, workgroup_size, subgroup_size, shape)
