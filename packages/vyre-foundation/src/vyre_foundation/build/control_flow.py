"""Statements that hold others, and those that leave them: branches, loops and regions."""

from __future__ import annotations

from collections.abc import Callable

from vyre_foundation.build import arguments
from vyre_foundation.build.arguments import DTypeLike
from vyre_foundation.build.blocks import Block, WhileBlock, nothing
from vyre_foundation.build.branches import BranchChain
from vyre_foundation.build.memory import Mutable
from vyre_foundation.build.statements import StatementRecorder
from vyre_foundation.build.values import Operand, Value, operand
from vyre_foundation.dtype import bool_, u32
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.expr import Apply, Local
from vyre_foundation.ir.stmt import Body, Break, Continue, For, If, Let, Region, Return
from vyre_foundation.ops.bitwise import NOT


class ControlFlowRecorder(StatementRecorder):
    """Records branches, loops and regions."""

    def if_(self, condition: Operand) -> Block[None]:
        """Open a block of statements that run if a condition holds: ``with p.if_(x > 0):``. `else_` may follow.

        Args:
            condition: A value of bool.

        Returns:
            The block, for a `with` statement. `build` refuses one that no `with` statement has opened.

        Raises:
            TypeMismatch: The condition is not a bool.
            BuildError: The condition is not a value.
        """
        test = operand(condition, bool_, self)

        def branch(body: Body) -> If:
            self._has_empty_branch |= not body
            return If(test, body)

        return Block(self, "p.if_(…)", branch, nothing)

    def elif_(self, condition: Operand) -> Block[None]:
        """Open a block of statements that run if a condition holds and no earlier one of the chain does.

        Variables and buffers that the condition reads are read after the earlier conditions.

        Args:
            condition: A value of bool.

        Returns:
            The block, for a `with` statement directly after an `if_` or `elif_` block.

        Raises:
            TypeMismatch: The condition is not a bool.
            BuildError: There is no `if_` or `elif_` block directly before, or it already has an `else_` block.
        """
        test = operand(condition, bool_, self)
        body = self._bodies[-1]
        reads = 0
        while reads < len(body) and isinstance(body[-1 - reads], Let):
            reads += 1
        chain = self._chain_before("elif_", reads)

        def longer(then: Body) -> If:
            self._has_empty_branch |= not then
            del body[len(body) - reads - 1 :]
            made = chain.extended((*read, If(test, then)))
            self._chain = BranchChain(made, chain.depth + 1)
            return made

        read = tuple(body[len(body) - reads :])
        return Block(self, "p.elif_(…)", longer, nothing)

    def else_(self) -> Block[None]:
        """Open a block of statements that run if no condition of the preceding `if_` and `elif_` blocks holds.

        Returns:
            The block, for a `with` statement.

        Raises:
            BuildError: There is no `if_` or `elif_` block directly before, or it already has an `else_` block.
        """

        def both(body: Body) -> If:
            made = self._chain_before("else_", 0).extended(body)
            del self._bodies[-1][-1]
            return made

        def opened() -> None:
            self._chain_before("else_", 0)

        return Block(self, "p.else_()", both, opened, is_continued=True)

    def _chain_before(self, word: str, reads: int) -> BranchChain:
        """The branches that a block continues: those that end `reads` statements before the end of the body."""
        body = self._bodies[-1]
        before = body[-1 - reads] if len(body) > reads else None
        if isinstance(before, If):
            chain = self._chain if self._chain is not None and self._chain.branch is before else BranchChain(before, 0)
            if not chain.last.orelse:
                return chain
        fix = "open it right after the `with p.if_(…)` or `with p.elif_(…)` block"
        raise BuildError(f"{word} does not follow an if_ block", fix=fix)

    def while_(self, condition: Callable[[], Operand], limit: int, tag: str | None = None) -> Block[None]:
        """Open a loop that runs while a condition holds: ``with p.while_(lambda: n > 1, limit=1000):``.

        Every program terminates, so the loop states a limit. If the condition still holds after that many iterations,
        the launch raises `Trapped`.

        Args:
            condition: A function that returns a value of bool. It is called once, to record the condition, which is
                evaluated before each iteration.
            limit: The largest number of iterations, known while the program is built.
            tag: The text of the error; by default, that the loop reached its limit.

        Returns:
            The block, for a `with` statement.

        Raises:
            BuildError: The condition is not a function, or the limit is not a positive integer.
            TypeMismatch: The condition does not return a bool.
        """
        arguments.require_condition(condition)
        most = arguments.integer(limit, "the limit of a loop")
        if not 0 < most < 2**32 - 1:
            raise BuildError(f"got the limit {most} of a loop", fix="pass an integer from 1 to 2**32 - 2")
        text = f"a loop of {self.name} reached its limit" if tag is None else arguments.text(tag, "the tag of a trap")
        counter = Local(self._fresh("iteration"), u32)
        first, last = operand(0, u32), operand(most + 1, u32)

        def begin() -> None:
            holds = condition()
            if holds is False:
                self.break_()
                return
            if holds is not True:
                with self.if_(Value(Apply(NOT, operand(holds, bool_, self)))):
                    self.break_()
            with self.if_(Value(counter) == most):
                self.trap(most, text)
                self.break_()

        def loop(body: Body) -> For:
            return For(counter.name, first, last, 1, body)

        return WhileBlock(self, "p.while_(…)", loop, begin, is_loop=True)

    def range(
        self,
        start: Operand,
        stop: Operand | None = None,
        step: int = 1,
        dtype: DTypeLike | None = None,
        name: str = "i",
    ) -> Block[Value]:
        """Open a loop: ``with p.range(n) as k:`` counts from 0 while below `n`.

        Args:
            start: The first value of the counter, an integer read once; with a single bound that is `stop`, and `start`
                is 0.
            stop: The counter stays below it; read once.
            step: A positive integer, known while the program is built.
            dtype: The counter's type: by default that of the bounds, or u32 where both are numbers.
            name: The beginning of the counter's name.

        Returns:
            The block, for a `with` statement, which gives the counter.

        Raises:
            BuildError: The step is not an integer, or a bound is not a value. `build` refuses a step below 1 (V042).
            TypeMismatch: The bounds have different types.
            LiteralOutOfRange: The type cannot hold a bound.
        """
        first, last = (0, start) if stop is None else (start, stop)
        known = [x.dtype for x in (first, last) if isinstance(x, (Value, Mutable))]
        type_ = arguments.optional_dtype(dtype) or (known[0] if known else u32)
        low, high = operand(first, type_, self), operand(last, type_, self)
        by = arguments.step_of(step)
        counter = Local(self._fresh(arguments.text(name, "a name")), type_)
        return Block(
            self,
            "p.range(…)",
            lambda body: For(counter.name, low, high, by, body),
            lambda: Value(counter, self),
            is_loop=True,
        )

    def region(self, label: str) -> Block[None]:
        """Open a block whose label says where its statements come from; it changes nothing else.

        Args:
            label: A string of at most 1024 bytes.

        Returns:
            The block, for a `with` statement.

        Raises:
            BuildError: The label is not a string.
        """
        text = arguments.text(label, "the label of a region")
        return Block(self, "p.region(…)", lambda body: Region(text, body), nothing, is_transparent=True)

    def break_(self) -> None:
        """Leave the innermost loop."""
        self._emit(Break())

    def continue_(self) -> None:
        """Go on with the next iteration of the innermost loop."""
        self._emit(Continue())

    def return_(self) -> None:
        """End this invocation."""
        self._emit(Return())
