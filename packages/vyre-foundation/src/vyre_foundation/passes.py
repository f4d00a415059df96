"""Passes: named rewritings of whole programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from vyre_foundation.ir.program import Program

ContextT = TypeVar("ContextT")


@dataclass(frozen=True, slots=True)
class Pass(Generic[ContextT]):
    """A rewriting that preserves what programs do, bit for bit.

    `doc` is one line: what becomes what. `apply(program, context)` gives the same object where nothing changes. The
    context is what the passes of one pipeline share: the facts of the program for the optimizer, the target and what is
    known about integers for lowering.
    """

    name: str
    doc: str
    apply: Callable[[Program, ContextT], Program] = field(repr=False)


def replaced(
    passes: tuple[Pass[ContextT], ...], replacements: tuple[Pass[ContextT], ...]
) -> tuple[Pass[ContextT], ...]:
    """`passes`, each with the one of `replacements` that has its name in its place, if there is one."""
    if not replacements:
        return passes
    by_name = {stage.name: stage for stage in replacements}
    return tuple(by_name.get(stage.name, stage) for stage in passes)


Watch: TypeAlias = "Callable[[Pass[ContextT], Program], None]"
"""Called after each pass with the program that it gives. It may raise: that is how a deadline ends a pipeline."""


def ignore(stage: Pass[ContextT], program: Program) -> None:
    """Watch nothing."""
