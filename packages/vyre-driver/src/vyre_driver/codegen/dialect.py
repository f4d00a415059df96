"""The spellings of a C-like target: a table that a concrete driver provides for the printer of C.

The capabilities of the target follow from the table: `CDialect.target()` derives the `Target` of legalization, so a
capability cannot be claimed without its spelling. Templates are `str.format` templates, whose fields are documented
with each table. Operands are in parentheses or single words, so a template needs parentheses only around its result.
The printer evaluates every operand once, even if a template contains it twice.
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
    """A `text` that is printed before kernels if it `applies` to their lowered programs."""

    name: str
    text: str
    applies: Callable[[Program], bool] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CDialect:
    """The spellings of one target. The fields are in the order of a source unit; an empty string means none.

    `language` is the name of the language in source units, by which dialects refer to it; it is empty if dialects
    cannot state source for it. `prelude` is printed first. Names of the program do not become words in `reserved` or
    words with a prefix in `reserved_prefixes`: these are declared by the prelude, or known to the compiler beyond C.
    Keywords of C, words of `types`, `ids` and `index_ids`, words with capital letters and words that end in ``_t`` are
    avoided in any case.

    `types` names every type of registers and memory: at least u8, u16 and u32; a bool is a u8 in memory. `literals`
    spells the constants of every type that registers can hold: ``{0}`` is a decimal or hexadecimal number. A float type
    without such literals maps to the empty string, and its constants are bitcasts of their bits. NaNs and infinities
    always are.

    `kernel` is the head of a kernel: ``{name}``, ``{parameters}``, ``{x}``, ``{y}``, ``{z}`` (the workgroup size).
    `function` is the head of a function that must not be inlined: ``{type}``, ``{name}``, ``{parameters}``. A
    vectorizing compiler computes a branch for all lanes, but calls a function only for the lanes that take it.
    `parameters` declares a bound buffer: ``{type}``, ``{name}``; `length_parameter` declares a u32. `workgroup`
    declares an array of the workgroup in a kernel: ``{type}``, ``{name}``, ``{count}``. `constant` declares a table
    before all kernels: also ``{values}``, within the outer braces of the template. Private arrays are plain C; `zeros`
    initializes those that begin with zeros. `alignment` is printed before the private arrays of a work item that runs a
    workgroup, so that vectors do not cross cache lines.

    `ids` are u32 expressions. `index_ids` may spell some of them as wider unsigned integers, for use in indices.

    `ops` spells a row of the op table for an operand type, with exactly the meaning of the row: ``{0}``, ``{1}``,
    ``{2}``. `select` takes the condition and both values. `casts` converts between (from, to) types: exactly if the
    value fits, rounding to nearest even, truncating, and wrapping between integers. `bitcasts` keeps the bits. `calls`
    has native forms of dialect ops by (callee, operand type); other callees are expanded. `natives` has native
    elementary functions of unknown error, which remain in programs only within an error budget.

    `barriers` has statements; an entry for `Scope.GRID` means that the target has a grid barrier. `atomics` has
    expressions that return the old value: ``{0}`` is the element (an lvalue), ``{1}`` the value, ``{2}`` the expected
    value. `atomic_stores` has expressions that replace an element without returning the old value, for exchanges whose
    result is not used; other types use an exchange. `subgroups` has expressions over the value ``{0}`` and the lane or
    mask ``{1}`` (below the subgroup size), which are valid for subgroups of `subgroup_sizes` in the order of the linear
    local ids. Reductions and scans of floats may be listed only if they combine in the order of the language. Other
    collectives are composed from exchanges, or use workgroup memory.

    `groups` states how a workgroup runs. `wide_indices`: indices are u64 if possible, so that compilers know that they
    do not wrap. `loop_versioning`: compilers vectorize only code without checks, so loops and kernels have two versions
    if one comparison can choose between them. `passes` run last, and `markings` are printed before kernels: both are
    workarounds for flaws of the compiler. `begin` is the first line in the body of every kernel. `rare_loop` is a line
    before loops that rarely run, `short_loop` before loops that should be unrolled, and `serial_loop` before loops that
    carry a float, whose iterations must not be reordered. `rare_end` is a statement without effect after code that
    rarely runs, which keeps compilers from merging its end with that of the other version. `opaque` is a statement
    after which compilers do not know the value of the variable ``{0}``, so that canonical NaNs stay in registers.
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
        """Return the target of legalization: exactly what is spelled."""
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
        """Return a digest of the table, which is the same in every process.

        Compiled code depends on the spellings, and `target` does not contain them.
        """
        hasher = blake3(b"vyre dialect")
        for name in self.__slots__:
            value = getattr(self, name)
            rows = value.items() if isinstance(value, Mapping) else value if isinstance(value, frozenset) else (value,)
            hasher.update("\0".join([name, *sorted(map(repr, rows)), "\n"]).encode())
        return str(hasher.hexdigest(16))


@dataclass(frozen=True, slots=True)
class SourceText:
    """A printed unit. `entries` has the names of the kernels in the order of `Lowered.kernels`.

    `places` has the statement of every line (a path such as ``main body[2].then[0]``), or "".
    """

    text: str
    entries: tuple[str, ...]
    places: tuple[str, ...]

    def place(self, line: int) -> str:
        """Return the statement of a line, counted from 1 as compilers do, or ""."""
        return self.places[line - 1] if 1 <= line <= len(self.places) else ""
