"""Every rule of the optimizer where it applies: a program made for it changes, and gives the same bytes as before.

The values are those at which types end. In most of the programs integers are bounded, to 0 … 15, 16 … 31 or -15 … 0, so
that rules with conditions on ranges apply.
"""

from __future__ import annotations

from random import Random

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let, Store
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import OPS
from vyre_foundation.optimize.rules import DOMAINS
from vyre_foundation.optimize.rules.rule import RewriteRule
from vyre_foundation.optimize.simplify import simplify
from vyre_foundation.testing.rule_weight import examples
from vyre_foundation.testing.values import random_bytes, special_bits
from vyre_foundation.validate import validate
from vyre_reference import vector
from vyre_reference.launch import launch

ELEMENTS = 128
HERE = Id(IdKind.GLOBAL_ID, 0)


LOW, HIGH, NEGATIVE, ANY = "low", "high", "negative", "any"
BOUNDS = ((ANY, ANY), (LOW, LOW), (LOW, HIGH), (HIGH, LOW), (NEGATIVE, LOW))
"""Of the first local, and of the others."""


def program_of(expr: Expr, bounds: tuple[str, str]) -> Program:
    """``out[here] = expr``, with the locals of `expr` loaded from a buffer each."""
    locals = [node for node in postorder((expr,)) if isinstance(node, Local)]
    inputs = [Buffer(f"in{n}", x.dtype, Access.READ, Memory.STORAGE, RUNTIME, n) for n, x in enumerate(locals)]
    out = Buffer("out", expr.dtype, Access.WRITE, Memory.STORAGE, ELEMENTS, len(inputs))
    values = [bounded(Load(buffer, HERE), bounds[n > 0]) for n, buffer in enumerate(inputs)]
    lets = [Let(local.name, value) for local, value in zip(locals, values, strict=True)]
    return Program("rule", (*inputs, out), (32, 1, 1), (*lets, Store(out, HERE, expr)))


def bounded(value: Expr, how: str) -> Expr:
    dtype = value.dtype
    if how == ANY or not dtype.is_integer:
        return value
    low = Apply(OPS["and"], value, literal(dtype, 15))
    if how == NEGATIVE:
        return Apply(OPS["neg"], low)
    return Apply(OPS["or"], low, literal(dtype, 16)) if how == HIGH else low


def data(rng: Random, buffer: Buffer) -> memoryview:
    special = [rng.choice(special_bits(buffer.dtype)) for _ in range(ELEMENTS // 2)]
    first = b"".join(bits.to_bytes(buffer.dtype.size, "little") for bits in special)
    return memoryview(first + random_bytes(rng, buffer.dtype, ELEMENTS - len(special)))


def run(program: Program, inputs: list[memoryview]) -> list[bytes]:
    outputs = launch(program, inputs, DispatchConfig(), lambda plan, memory, budget: vector.evaluate(plan, memory))
    return list(map(bytes, outputs))


def is_applied(rule: RewriteRule) -> bool:
    """Whether `rule`, or another one, rewrites some program; each gives what it gave before."""
    rng, applied = Random(str(rule)), False
    found = list(examples(rule, tries=8))
    if len(found) < 4:  # of few types, or with literals that are seldom drawn
        found = list(examples(rule, tries=60))
    for left, _ in rng.sample(found, min(4, len(found))):
        # Without conditions of its own, what ranges change is which other rules apply as well.
        for bounds in BOUNDS if rule.where else (BOUNDS[0], rng.choice(BOUNDS[1:])):
            program = program_of(left, bounds)
            simplified = simplify(program, validate(program))
            applied |= simplified is not program
            inputs = [data(rng, buffer) for buffer in program.inputs]
            assert run(program, inputs) == run(simplified, inputs), f"{rule}\n{program}\n{simplified}"
    return applied


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_rule_is_applied_and_keeps_every_byte(domain):
    for rule in DOMAINS[domain]:
        assert is_applied(rule), str(rule)
