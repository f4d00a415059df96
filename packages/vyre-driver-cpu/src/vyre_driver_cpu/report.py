"""How far LLVM has made vectors of kernels: counted in the assembly, instruction by instruction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FUNCTION = re.compile(r"^_?(kernel_\d+)(?:_body)?:")
_END = re.compile(r"^(?:\.Lfunc_end|\s+\.(?:cfi_endproc|globl|section|subsections_via_symbols))")
_INSTRUCTION = re.compile(r"^\t([a-z][\w.]*)\s*(.*)")
_X86_WIDTHS = (("%zmm", 512), ("%ymm", 256), ("%xmm", 128))
_X86_SCALAR = re.compile(r"(?:ss|sd|sh)$|^v?(?:mov[dq]$|u?comis|cvt\w*s[sdh]2|cvt\w*2s[sdh])")
_ARM_VECTOR = re.compile(r"\bv\d+\.|\.\d+[bhsd]$")


@dataclass(frozen=True, slots=True)
class VectorReport:
    """Instructions of one kernel, as they stand in its code: how often each runs is not known.

    `width` is the widest vector, in bits. `gathers` and `scatters` address each lane by itself, `masked` instructions
    leave lanes out.
    """

    kernel: str
    instructions: int
    vectors: int
    width: int
    gathers: int
    scatters: int
    masked: int

    def __str__(self) -> str:
        if not self.vectors:
            return f"{self.kernel}: {self.instructions} instructions, none of them on vectors"
        share = f"{100 * self.vectors / self.instructions:.0f} %"
        return (
            f"{self.kernel}: {self.instructions} instructions, {share} on vectors of up to {self.width} bits; "
            f"{self.gathers} gathers, {self.scatters} scatters, {self.masked} masked"
        )


def vector_reports(assembly: str) -> Iterator[VectorReport]:
    """A report for each kernel of an assembly text, x86-64 or arm64. Its body may be a function of its own."""
    name, found = "", dict[str, list[tuple[str, str]]]()
    for line in assembly.splitlines():
        if match := _FUNCTION.match(line):
            name = match[1]
            found.setdefault(name, [])
        elif name and _END.match(line):
            name = ""
        elif name and (match := _INSTRUCTION.match(line)):
            found[name].append((match[1], match[2]))
    for kernel in sorted(found, key=lambda kernel: int(kernel.removeprefix("kernel_"))):
        yield _report(kernel, found[kernel])


def _report(kernel: str, instructions: list[tuple[str, str]]) -> VectorReport:
    widths = [_width(word, operands) for word, operands in instructions]
    return VectorReport(
        kernel=kernel,
        instructions=len(instructions),
        vectors=sum(width > 0 for width in widths),
        width=max(widths, default=0),
        gathers=sum("gather" in word for word, _ in instructions),
        scatters=sum("scatter" in word for word, _ in instructions),
        masked=sum("{%k" in operands for _, operands in instructions),
    )


def _width(word: str, operands: str) -> int:
    """The bits of the vectors that an instruction works on; 0 where it works on one value."""
    for register, bits in _X86_WIDTHS:
        if register in operands:
            return 0 if bits == 128 and _X86_SCALAR.search(word) else bits
    return 128 if _ARM_VECTOR.search(word) or _ARM_VECTOR.search(operands) else 0
