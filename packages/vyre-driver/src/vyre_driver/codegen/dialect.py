"""The words of a C-like target: the one table that a concrete driver writes for its emitter.

What is spelled here is what the target can do: `CDialect.target()` derives the `Target` that legalization works for, so
a capability cannot be claimed without its spelling. Templates are `str.format` templates; their fields are named
beside each table. Operands arrive in brackets or as single words, so a template needs brackets only around its own
result. The printer evaluates every operand once, also where a template mentions it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from blake3 import blake3

from vyre_driver.legalization.target import Groups, Target
from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import AtomicOp, Scope, SubgroupOp
from vyre_foundation.passes import Pass


@dataclass(frozen=True, slots=True)
class Marking:
    """A `text` before the kernels that it `applies` to, by their lowered programs."""

    name: str
    text: str
    applies: Callable[[Program], bool] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CDialect:
    """Spellings of one target; the fields stand in the order of a source text.

    `language` is what source units call the language, by which dialects know it; empty if it takes no texts of theirs.
    `prelude` opens the text. `reserved` are words that no name of a program may become, nor one that begins with one of
    `reserved_prefixes`: what the prelude declares, and what the compiler knows beyond C. Keywords of C, words of
    `types`, `ids` and `index_ids`, words with capital letters and words that end in ``_t`` are avoided in any case.

    `types` names every type of registers and memory: at least u8, u16, u32; a bool is a u8 in memory. `literals` spells
    the constants of every type that registers can hold: ``{0}`` is a decimal or hexadecimal number. A float
    type whose literals cannot be written that way maps to the empty text and is written as a bitcast of its bits. NaN
    and infinities always are.

    `kernel` heads a kernel: ``{name}``, ``{parameters}``, ``{x}``, ``{y}``, ``{z}`` (the workgroup size). `function`
    heads a function that must not be inlined: ``{type}``, ``{name}``, ``{parameters}``; compilers that make vectors
    compute a branch for all of their lanes, but call a function only for those that take it. `parameters` declares a
    bound buffer: ``{type}``, ``{name}``; `length_parameter` a u32. `workgroup` declares an array of the workgroup
    inside of a kernel: ``{type}``, ``{name}``, ``{count}``; `constant` a table before all kernels: also ``{values}``,
    with the outer braces around them in the template. Private arrays are plain C, with `zeros` as the initialiser of
    those that begin with zeros. `alignment` stands before those of a work item that runs a workgroup: vectors walk
    through them, and should cross no line of the cache.

    `ids` are u32 expressions. `index_ids` may spell some of them as wider unsigned integers, for use as indices.

    `ops` spell a row of the op table for an operand type with exactly the row's meaning: ``{0}``, ``{1}``, ``{2}``.
    `select` is over condition and arms. `casts` convert between (from, to) types: exact where the value fits, rounding
    to nearest even, truncating and wrapping between integers. `bitcasts` keep the bits. `calls` are native forms of
    dialect ops by (callee, operand type); a callee that is not listed is expanded. `natives` are the same without a
    promise: the target's own elementary functions, which may be off, and are left in programs only for a budget.

    `barriers` are statements (a `Scope.GRID` entry means that the target has a grid barrier). `atomics` are expressions
    that give the old value: ``{0}`` is the element (an lvalue), ``{1}`` the value, ``{2}`` the expected value.
    `atomic_stores` are expressions that replace an element as an exchange does, and give nothing: what an exchange is
    written as where its old value is not used, and cheaper. Types without an entry are exchanged.
    `subgroups` are expressions over ``{0}`` the value and ``{1}`` the lane or mask (already below the subgroup size),
    valid for subgroups of any of `subgroup_sizes` in the order of the linear local ids; reductions and scans of floats
    only if they combine in the order of the language. Without an entry they are composed from exchanges, or go
    through workgroup memory.

    `groups` is how a workgroup runs. `wide_indices`: indices are u64 where they can be, so that compilers know that
    they do not wrap. `loop_versioning`: compilers vectorize code without checks, so loops and kernels have
    two versions where one comparison chooses between them. `passes` lower programs last, and `markings` stand before
    kernels: workarounds for flaws of the compiler. `begin` is the line that every kernel's body begins with.
    `rare_loop` is a line before loops that are not worth much of a compiler's time, `short_loop` one before loops that
    are better written out, `serial_loop` one before loops that carry a float, whose iterations compilers must not
    reorder. `rare_end` is a statement that does nothing, behind code that rarely runs: compilers then do not join its
    end with that of the other version. `opaque` is a statement after which compilers do not know what the
    variable ``{0}`` holds: then canonical NaN stay in registers. Empty texts are none.
    """

    name: str
    language: str = ""
    prelude: str = ""
    reserved: frozenset[str] = frozenset()
    reserved_prefixes: tuple[str, ...] = ()
    types: Mapping[DType, str]
    literals: Mapping[DType, str]
    kernel: str
    function: str = ""
    parameters: Mapping[tuple[Memory, Access], str]
    length_parameter: str
    workgroup: str
    constant: str
    zeros: str = "{0}"
    alignment: str = ""
    ids: Mapping[tuple[IdKind, int], str]
    index_ids: Mapping[tuple[IdKind, int], str] = field(default_factory=dict)
    ops: Mapping[tuple[str, DType], str]
    select: str = "({0} ? {1} : {2})"
    casts: Mapping[tuple[DType, DType], str]
    bitcasts: Mapping[tuple[DType, DType], str]
    calls: Mapping[tuple[str, DType], str] = field(default_factory=dict)
    natives: Mapping[tuple[str, DType], str] = field(default_factory=dict)
    barriers: Mapping[Scope, str]
    atomics: Mapping[tuple[AtomicOp, DType], str] = field(default_factory=dict)
    atomic_stores: Mapping[DType, str] = field(default_factory=dict)
    subgroups: Mapping[tuple[SubgroupOp, DType], str] = field(default_factory=dict)
    subgroup_sizes: frozenset[int] = frozenset()
    groups: Groups = Groups.ITEMS
    wide_indices: bool = False
    loop_versioning: bool = False
    passes: tuple[Pass[Any], ...] = ()
    markings: tuple[Marking, ...] = ()
    begin: str = ""
    rare_loop: str = ""
    rare_end: str = ""
    short_loop: str = ""
    serial_loop: str = ""
    opaque: str = ""

    def target(self) -> Target:
        """What legalization may use: everything that is spelled, and nothing else."""
        return Target(
            name=self.name,
            ops=frozenset(self.ops),
            memory=frozenset(t for t in self.types if t is not bool_),
            arithmetic=frozenset(self.literals),
            casts=frozenset(self.casts),
            bitcasts=frozenset(self.bitcasts),
            calls=frozenset(self.calls),
            language=self.language,
            atomics=frozenset(self.atomics),
            subgroup_ops=frozenset(self.subgroups),
            subgroup_sizes=self.subgroup_sizes,
            grid_barrier=Scope.GRID in self.barriers,
            groups=self.groups,
            wide_indices=self.wide_indices,
            loop_versioning=self.loop_versioning,
            functions=bool(self.function),
            passes=self.passes,
        )

    def digest(self) -> str:
        """A text that is the same in every process and another for every other table.

        Source is part of what is compiled, and `target` holds none of the spellings that it is printed with.
        """
        hasher = blake3(b"vyre dialect")
        for name in self.__slots__:
            value = getattr(self, name)
            rows = value.items() if isinstance(value, Mapping) else value if isinstance(value, frozenset) else (value,)
            hasher.update("\0".join([name, *sorted(map(repr, rows)), "\n"]).encode())
        return str(hasher.hexdigest(16))


@dataclass(frozen=True, slots=True)
class SourceText:
    """A printed unit. `entries` are the names of the kernels in the text, in the order of `Lowered.kernels`.

    `places` tells for every line which statement it came from (a path such as ``main body[2].then[0]``), "" for none.
    """

    text: str
    entries: tuple[str, ...]
    places: tuple[str, ...]

    def place(self, line: int) -> str:
        """The statement behind a line, counted from 1 as compilers do; "" where there is none."""
        return self.places[line - 1] if 1 <= line <= len(self.places) else ""
