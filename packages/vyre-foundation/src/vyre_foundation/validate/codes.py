"""What every code of a finding stands for. The documentation is generated from this table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Rule(NamedTuple):
    """`rule` holds for valid programs, `example` is a smallest program that breaks it, `repair` makes it valid."""

    rule: str
    example: str
    repair: str


# fmt: off
_RULES = {
    # Declarations
    "V001": Rule("Buffers have names of their own.",
                 "two inputs called `a`", "call the second one `b`"),
    "V002": Rule("Buffers with a binding come first, and their bindings are 0, 1, 2, … in this order.",
                 "one input with binding 1", "give it binding 0"),
    "V003": Rule("Names have ASCII letters, digits, `_` and dots, no digit first; a program's is any non-empty text.",
                 "a local called `1st`", "call it `first`"),
    "V004": Rule("Names do not begin with `__`; these belong to lowering.",
                 "a buffer called `__traps`", "call it `traps`"),
    "V005": Rule("A length that follows from another buffer names a buffer of the program that has a binding.",
                 "an output as long as `x`, and no buffer `x`", "declare the input `x`"),
    "V006": Rule("Lengths that follow from lengths end at a count or an input, not at themselves or at the grid.",
                 "a scratch buffer as long as itself", "give it a count"),
    "V007": Rule("A length that is known from the declarations is not negative, and below 2**32.",
                 "an output of three times 2**31 elements, by a rule", "make the rule one to one"),
    "V008": Rule("The byte range of an output with a fixed count lies inside of the output.",
                 "the bytes 0 … 8 of an output of one u32", "the bytes 0 … 4"),
    "V009": Rule("The body uses buffers that the program declares, with exactly this declaration.",
                 "a load from a buffer that is not in `buffers`", "add the buffer"),
    # Limits
    "V010": Rule("A workgroup has 1 … 1024 invocations on x and y, 1 … 64 on z, and at most 1024 in all.",
                 "a workgroup size of (0, 1, 1)", "(1, 1, 1)"),
    "V011": Rule("The subgroup size is a power of two in 1 … 64 that divides the invocations of the workgroup.",
                 "a subgroup of 3", "a subgroup of 4"),
    "V012": Rule("At most 32 KiB of workgroup, 16 KiB of private, 4 MiB of constant memory, 64 KiB in a uniform one.",
                 "a workgroup array of 8193 u32", "one of 8192"),
    "V013": Rule("At most 64 buffers have a binding.",
                 "65 inputs", "64 inputs"),
    "V014": Rule("A statement is inside of at most 64 others.",
                 "65 nested regions around a return", "64 of them"),
    "V015": Rule("Names, labels and tags are Unicode text of at most 1024 bytes in UTF-8.",
                 "a region with a label of 1025 letters", "one of 1024"),
    "V016": Rule("A body is a tuple of statements, whose fields are of the kinds that their classes declare.",
                 "an atomic with the op `\"add\"`, a text", "`AtomicOp.ADD`"),
    # Locals
    "V020": Rule("A local is declared once in the whole program.",
                 "`let x` in both branches of an if", "call one of them `y`"),
    "V021": Rule("A local is declared.",
                 "a store of `x`, which nothing declares", "declare it with let"),
    "V022": Rule("A local is used after its declaration and inside of the body that declares it.",
                 "`x` declared in an if and used after it", "declare it before the if"),
    "V023": Rule("A local has the type with which it is declared.",
                 "`let x` of u32, used as f32", "use it as u32"),
    "V024": Rule("Only locals declared with `var` are assigned; loop counters are not.",
                 "an assignment to a `let`", "declare it with var"),
    "V025": Rule("A local is assigned values of its own type.",
                 "an i32 for a `var` of u32", "a u32"),
    # Memory
    "V030": Rule("Write-only buffers are not loaded from.",
                 "a load from an output declared with write", "declare it with read_write"),
    "V031": Rule("Read-only buffers are not stored to.",
                 "a store to an input", "declare it with read_write"),
    "V032": Rule("Atomics are for written storage, persistent, scratch and workgroup memory.",
                 "an atomic on private memory", "use workgroup memory"),
    "V033": Rule("A stored value has the type of the buffer.",
                 "an i32 stored to a buffer of u32", "a u32"),
    "V034": Rule("An index is of an integer type.",
                 "a store at 1.0", "a store at 1"),
    "V035": Rule("Atomics are for u32, i32, u64 and i64.",
                 "an atomic on a buffer of u16", "a buffer of u32"),
    "V036": Rule("The operands of an atomic have the type of the buffer.",
                 "an i32 added to a buffer of u32", "a u32"),
    "V037": Rule("Compare_exchange has an expected value, and no other atomic has one.",
                 "a compare_exchange without one", "pass it"),
    # Control
    "V040": Rule("A condition is a bool.",
                 "an if on a u32", "compare it with 0"),
    "V041": Rule("The bounds of a loop have one integer type.",
                 "a loop from a u32 to an i32", "both u32"),
    "V042": Rule("The step of a loop is a positive number of the type of its bounds.",
                 "a step of 0", "a step of 1"),
    "V043": Rule("Break and continue are inside of a loop.",
                 "a break at the top of the program", "put it into a loop"),
    "V044": Rule("No statement comes after one that always leaves the body.",
                 "a store after a return", "remove the store"),
    "V045": Rule("The code of a trap is a u32.",
                 "a trap with an i32", "a u32"),
    "V046": Rule("The tag of a trap is not empty.",
                 "a trap with the tag ``", "say what failed"),
    "V047": Rule("An indirect dispatch is the first statement of the program.",
                 "one after a return in a region", "move it to the top"),
    "V048": Rule("The grid of an indirect dispatch is three elements of a u32 input.",
                 "the grid from a buffer of f32", "a buffer of u32"),
    # Barriers, subgroups
    "V050": Rule("A barrier is reached by all invocations of a workgroup or by none.",
                 "a barrier where local_id(0) is 0", "move it out of the if"),
    "V051": Rule("A collective is reached by all invocations of a workgroup or by none.",
                 "a reduction where local_id(0) is 0", "move it out of the if"),
    "V052": Rule("A grid barrier is at the top of the program or in loops, not in an if.",
                 "a grid barrier in an if", "move it out"),
    "V053": Rule("The bounds of loops around a grid barrier are known to the host: literals, lengths, num_workgroups.",
                 "a trip count read from an input", "a trip count from the length of an input"),
    "V054": Rule("No invocation may have returned before a grid barrier.",
                 "a return in an if before it", "put the rest into the if"),
    "V055": Rule("Loops around a grid barrier have no break and no continue.",
                 "a break in such a loop", "a condition"),
    "V056": Rule("Programs that use subgroups declare a subgroup size.",
                 "`subgroup_lane` without one", "declare it"),
    "V057": Rule("Collectives add and compare numbers, combine bits of integers, and count bools.",
                 "a ballot of a u32", "compare it with 0"),
    "V058": Rule("Broadcast, shuffle and shuffle_xor have a lane or mask of u32, and the other collectives have none.",
                 "a shuffle without a lane", "pass it"),
    "V059": Rule("The lane of a broadcast is the same in the whole workgroup.",
                 "a broadcast from lane local_id(0)", "use shuffle"),
    # Lowering, dialects
    "V060": Rule("Ops with a precondition are for legalizers.",
                 "a raw_div", "a div"),
    "V061": Rule("Accesses and casts without a check are for legalizers.",
                 "an unchecked load", "a load"),
    "V062": Rule("The op of a call is defined by an installed dialect.",
                 "a call of `absent.op`", "install the dialect"),
    "V063": Rule("The operands and the result of a call have the types of one of the op's signatures.",
                 "a call with two operands of an op that takes one", "pass one"),
    "V064": Rule("A called op is a composition of pure ops over its operands, and not of itself.",
                 "an op that expands to global_id(0)", "pass the id as an operand"),
    "V065": Rule("An attribute of a call is a literal of the attribute's type.",
                 "a loaded number as an attribute", "write the number"),
    "V066": Rule("The dialect of a called op has nothing against the call.",
                 "an order of 0, which the dialect refuses", "an order of 1"),
}
# fmt: on

RULES: Mapping[str, Rule] = MappingProxyType(_RULES)
"""Rules of the language, by the code of the finding that breaks them."""

# fmt: off
_REASONS = {
    "D001": Rule("A store meets no other access of its barrier interval.",
                 "every invocation stores to element 0", "store where the global id is 0"),
    "D002": Rule("A load meets no write of its barrier interval.",
                 "a load of the neighbour's element of workgroup memory, right after the stores", "a barrier between"),
    "D003": Rule("An atomic whose order shows meets no other access of its barrier interval.",
                 "the old value of a counter that all invocations increase is stored", "each has a counter of its own"),
    "D004": Rule("Atomics with different ops do not meet in a barrier interval.",
                 "an atomic add and an atomic max on element 0", "a barrier between, or two elements"),
    "D005": Rule("The program is small enough for a proof.",
                 "thousands of statements that share one expression with thousands of loads", "bind it to a local"),
}
# fmt: on

REASONS: Mapping[str, Rule] = MappingProxyType(_REASONS)
"""What has to be proven for a program to be deterministic, by the code of the reason where that fails."""
