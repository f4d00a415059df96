"""The text of one function: blocks of instructions, with names that are given out in order."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_driver_cpu.spelling import TYPES
from vyre_foundation.dtype import DType, u32

LIKELY = "!9"
"""The advice for branches that go to the first block more often: twice. With more LLVM's vectorizer takes what is in it
for expensive."""

OFTEN = "!16"
"""The advice for branches that go to the first block nearly always: registers are for what is in it."""

INDEPENDENT = "!10"
"""The group of accesses of which none depends on one of another iteration of their loop."""

UNPREDICTABLE = "!14"
"""The advice for selections that are better instructions than branches."""

NONTEMPORAL = "!15"
"""The advice for stores that bypass the caches."""


class FunctionText:
    """Lines of LLVM IR. `block` is the label of the block that is open: what is added next belongs to it.

    Stack memory is reserved in `entry`, before everything else: LLVM keeps what is only loaded and stored there in
    registers.
    """

    def __init__(self) -> None:
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.block = "body"
        self.is_open = True
        self._number = 0
        self._nans: dict[DType, str] = {}
        self._every_bit = ""
        self._words: dict[str, tuple[str, str]] = {}
        self.constants: dict[str, str] = {}
        """What constants in memory are, by their names."""
        self.asks_host = False
        """Whether it calls `ASK_HOST`."""

    def name(self, stem: str = "t") -> str:
        """A new name, without its ``%``."""
        self._number += 1
        return f"{stem}{self._number}"

    def add(self, line: str) -> None:
        """An instruction without a result. Behind a jump nothing is reached, so nothing is printed."""
        if self.is_open:
            self.lines.append(f"  {line}")

    def value(self, text: str) -> str:
        """The result of an instruction, as an operand."""
        result = f"%{self.name()}"
        self.add(f"{result} = {text}")
        return result

    def spelled(self, spelling: str, operands: Sequence[str]) -> str:
        """The result of a spelling (see `spelling`); without a text it is the operand."""
        if not spelling:
            return operands[0]
        prefix = f"%{self.name('s')}"
        *before, last = spelling.format(*operands, r=prefix).split("\n")
        for line in before:
            self.add(line)
        return self.value(last)

    def reserve(self, type: str, count: int = 1, align: int = 0, initial: str = "") -> str:
        """Memory on the stack, which may have an initial value: its address."""
        address = f"%{self.name('m')}"
        size = f"[{count} x {type}]" if count != 1 else type
        self.entry.append(f"  {address} = alloca {size}{f', align {align}' if align else ''}")
        if initial:
            self.entry.append(f"  store {size} {initial}, ptr {address}")
        return address

    def nan(self, dtype: DType) -> str:
        """The canonical NaN, as a value that LLVM does not know.

        LLVM takes all NaNs for equal: it drops a selection of the canonical one where it sees that the other is a NaN.
        """
        if dtype not in self._nans:
            name = self._nans[dtype] = f"%nan_{dtype}"
            self.entry.append(f"  {name} = load {TYPES[dtype]}, ptr @nan_{dtype}")
        return self._nans[dtype]

    def constant(self, type: str, value: str) -> str:
        """The address of a constant, a float in hexadecimal: equal ones have the same in all functions."""
        name = f"@{type}_{value}"
        self.constants[name] = f"{type} {value}"
        return name

    def words(self, array: str, length: str, dtype: DType) -> tuple[str, str]:
        """Memory that begins as an array of small elements and has a word at least, and where its last word begins.

        An array that is less than a word is copied to the stack at the entry.
        """
        if array not in self._words:
            name, each = f"%{self.name('words')}", u32.bits // dtype.bits
            small, lanes = f"<{each} x i{dtype.bits}>", f"<{each} x i32>"
            numbers = ", ".join(f"i32 {n}" for n in range(each))
            load = f"call {small} @llvm.masked.load.v{each}i{dtype.bits}.p0(ptr align {dtype.size} {array}"
            copy = self.reserve("i32", align=u32.size)
            self.entry += [
                f"  {name}.one = insertelement {lanes} poison, i32 {length}, i64 0",
                f"  {name}.each = shufflevector {lanes} {name}.one, {lanes} poison, {lanes} zeroinitializer",
                f"  {name}.is = icmp ugt {lanes} {name}.each, <{numbers}>",
                f"  {name}.first = {load}, <{each} x i1> {name}.is, {small} zeroinitializer)",
                f"  store {small} {name}.first, ptr {copy}, align {u32.size}",
                f"  {name}.few = icmp ult i32 {length}, {each}",
                f"  {name} = select i1 {name}.few, ptr {copy}, ptr {array}",
                f"  {name}.last = call i32 @llvm.usub.sat.i32(i32 {length}, i32 {each})",
            ]
            self._words[array] = name, f"{name}.last"
        return self._words[array]

    def every_bit(self) -> str:
        """All 64 bits set, as a value that LLVM does not know: ``and`` with it hides what another is made of."""
        if not self._every_bit:
            self._every_bit = "%every_bit"
            self.entry.append(f"  {self._every_bit} = load i64, ptr @every_bit")
        return self._every_bit

    def jump(self, label: str, suffix: str = "") -> None:
        """Go to a block; nothing comes behind."""
        self.add(f"br label %{label}{suffix}")
        self.is_open = False

    def branch(self, condition: str, if_true: str, if_false: str, advice: str = "") -> None:
        """Go to one of two blocks."""
        self.add(f"br i1 {condition}, label %{if_true}, label %{if_false}{f', !prof {advice}' if advice else ''}")
        self.is_open = False

    def open(self, label: str) -> None:
        """Begin a block; one that is still open goes on in it."""
        if self.is_open:
            self.jump(label)
        self.lines.append(f"{label}:")
        self.block, self.is_open = label, True

    def independent(self, start: int) -> None:
        """Say of the accesses since line `start` that none depends on one of another iteration."""
        for position in range(start, len(self.lines)):
            line = self.lines[position]
            if line.startswith("  store ") or " = load " in line:
                self.lines[position] = f"{line}, !llvm.access.group {INDEPENDENT}"

    def text(self) -> list[str]:
        """All lines, the entry first."""
        return ["entry:", *self.entry, "  br label %body", "body:", *self.lines]
