"""The wire form, version 1: this page is the format, `encode` and `decode` only follow it.

    file        = magic "VYRE" · version (u16, little-endian) · BLAKE3-256 of the payload · payload
    payload     = strings · head · buffers · expressions · body, and nothing after

A *number* is an unsigned LEB128 varint below 2**64 in its shortest form, a *tag* is a byte. A *column* is one field of
all the rows that have it, in order; how many that are follows from what was read before, so nothing is said twice.

    strings     = number of strings · column of their sizes in bytes · their UTF-8 bytes
    head        = program name · workgroup x · y · z · subgroup size (0: none, else size + 1)
    buffers     = number declared · number used but not declared · rows
    row         = tag (`BUFFERS`) · name · dtype tag · [binding, if bound] · count · [data, if constant]
                  · [output range, if written storage: 0, or stop - start + 1 · start]
    count       = tag · its numbers
    expressions = number of tokens · tokens · columns dtypes, references, locals, callees, buffers, arities, literals
    body        = number of tags · tags · columns details, locals, labels, buffers, numbers

**Strings** are in the order of their first use, and so a string is written as a number: 0 is the first string that was
not used before, k the k-th last of those that were. Every string is used, and no two are equal.

**Expressions** are code for a stack machine. A token pops its operands and pushes an expression, which is new: no two
tokens make the same one. The token `REUSE` pushes an old one, the k-th last that was made, where k is the next number
of the column *references*. In the end the stack holds what the statements evaluate, from the first to the last. A graph
has exactly one such code, and no code names an expression that is not there yet or leaves one unused. Literals stand as
raw bits, little-endian and of their type's size, grouped by dtype in the order of the dtypes' tags.

**Statements** are tags in the order of the program; `END` closes a body, `ELSE` divides an `IF`, which always has both.

**Buffers** are numbered as in the rows, and one that is declared twice by the first. Buffers that are used but not
declared follow in the order of their first use. (Only an invalid program has either, but it has its bytes too.)
"""

from __future__ import annotations

from types import MappingProxyType

from vyre_foundation.ir.buffer import Access, Memory, Per
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp
from vyre_foundation.ops import OPS

MAGIC = b"VYRE"
VERSION = 1
HEADER_SIZE = len(MAGIC) + 2 + 32

# fmt: off
BUFFERS = MappingProxyType({
    (Memory.STORAGE,    Access.READ):       1,
    (Memory.STORAGE,    Access.WRITE):      2,
    (Memory.STORAGE,    Access.READ_WRITE): 3,
    (Memory.UNIFORM,    Access.READ):       4,
    (Memory.CONSTANT,   Access.READ):       5,
    (Memory.PERSISTENT, Access.READ_WRITE): 6,
    (Memory.SCRATCH,    Access.READ_WRITE): 7,
    (Memory.WORKGROUP,  Access.READ_WRITE): 8,
    (Memory.PRIVATE,    Access.READ_WRITE): 9,
})
"""Where a buffer lives and who may touch it; `Buffer` refuses every other combination."""

FIXED, RUNTIME_LENGTH, LENGTH_OF, PER_WORKGROUP, PER_INVOCATION, LENGTH_LESS = 1, 2, 3, 4, 5, 6
PER = MappingProxyType({Per.WORKGROUP: PER_WORKGROUP, Per.INVOCATION: PER_INVOCATION})
"""Counts: a number; nothing; buffer name · times · over · plus; a number; a number; as the third, with minus, which is
at least 1."""

# Tokens of the stack machine; 1 … 191 are the tags of the op table. The comment says what fills the columns.
REUSE          = 0    # reference
LITERAL        = 192  # dtype, literal
LOCAL          = 193  # dtype, local
LOAD           = 194  # buffer
LOAD_UNCHECKED = 195  # buffer
LENGTH         = 196  # buffer
SELECT         = 197
CAST           = 198  # dtype
CAST_UNCHECKED = 199  # dtype
BITCAST        = 200  # dtype
CALL           = 201  # dtype, callee, arity
IDS = MappingProxyType({
    (IdKind.GLOBAL_ID,      0): 208, (IdKind.GLOBAL_ID,      1): 209, (IdKind.GLOBAL_ID,      2): 210,
    (IdKind.LOCAL_ID,       0): 211, (IdKind.LOCAL_ID,       1): 212, (IdKind.LOCAL_ID,       2): 213,
    (IdKind.WORKGROUP_ID,   0): 214, (IdKind.WORKGROUP_ID,   1): 215, (IdKind.WORKGROUP_ID,   2): 216,
    (IdKind.NUM_WORKGROUPS, 0): 217, (IdKind.NUM_WORKGROUPS, 1): 218, (IdKind.NUM_WORKGROUPS, 2): 219,
    (IdKind.SUBGROUP_LANE,  0): 220, (IdKind.SUBGROUP_SIZE,  0): 221,
})

UNSIGNED = MappingProxyType({1: "B", 2: "H", 4: "I", 8: "Q"})
"""The letter of `struct` for the bits of a literal, by its size in bytes."""

# Statements. The comment says what fills the columns, and behind the arrow what they evaluate, in this order.
END    = 0
LET    = 1   # local → value
VAR    = 2   # local → value
ASSIGN = 3   # local → value
STORE, STORE_UNCHECKED = 4, 5  # buffer → index, value
IF     = 6   # → condition; then … ELSE … END
ELSE   = 7
FOR    = 8   # local, number step → start, stop; … END
BREAK, CONTINUE, RETURN = 9, 10, 11
BARRIER_WORKGROUP, BARRIER_GRID = 12, 13
TRAP   = 14  # label → code
INDIRECT_DISPATCH = 15  # buffer, number offset
REGION = 16  # label; … END
ATOMIC = 32  # … 39: + HAS_RESULT + HAS_EXPECTED + IS_UNCHECKED; detail op, buffer, [local] → index, value, [expected]
SUBGROUP = 40  # … 43: + HAS_RESULT + HAS_LANE; detail op, [local] → value, [lane]
HAS_RESULT, HAS_EXPECTED, IS_UNCHECKED, HAS_LANE = 1, 2, 4, 2

ATOMIC_OPS = MappingProxyType({
    AtomicOp.ADD: 1, AtomicOp.AND: 2, AtomicOp.OR: 3, AtomicOp.XOR: 4, AtomicOp.MIN: 5, AtomicOp.MAX: 6,
    AtomicOp.EXCHANGE: 7, AtomicOp.COMPARE_EXCHANGE: 8,
})
SUBGROUP_OPS = MappingProxyType({
    SubgroupOp.REDUCE_ADD: 1, SubgroupOp.REDUCE_MIN: 2, SubgroupOp.REDUCE_MAX: 3,
    SubgroupOp.REDUCE_AND: 4, SubgroupOp.REDUCE_OR: 5, SubgroupOp.REDUCE_XOR: 6,
    SubgroupOp.INCLUSIVE_SCAN_ADD: 7, SubgroupOp.INCLUSIVE_SCAN_MIN: 8, SubgroupOp.INCLUSIVE_SCAN_MAX: 9,
    SubgroupOp.INCLUSIVE_SCAN_AND: 10, SubgroupOp.INCLUSIVE_SCAN_OR: 11, SubgroupOp.INCLUSIVE_SCAN_XOR: 12,
    SubgroupOp.EXCLUSIVE_SCAN_ADD: 13, SubgroupOp.EXCLUSIVE_SCAN_MIN: 14, SubgroupOp.EXCLUSIVE_SCAN_MAX: 15,
    SubgroupOp.EXCLUSIVE_SCAN_AND: 16, SubgroupOp.EXCLUSIVE_SCAN_OR: 17, SubgroupOp.EXCLUSIVE_SCAN_XOR: 18,
    SubgroupOp.BROADCAST: 19, SubgroupOp.SHUFFLE: 20, SubgroupOp.SHUFFLE_XOR: 21,
    SubgroupOp.BALLOT: 22, SubgroupOp.ANY: 23, SubgroupOp.ALL: 24,
})
# fmt: on

if not all(REUSE < op.tag < LITERAL for op in OPS.values()):
    raise AssertionError("an op's tag is taken by another kind of token")
