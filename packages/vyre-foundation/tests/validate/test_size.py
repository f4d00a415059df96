"""Large programs: nothing recurses over expressions, and shared expressions are looked at once."""

import pytest

from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Id, IdKind, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Barrier, If, Let, Region, Return, Store, Var
from vyre_foundation.ops import OPS
from vyre_foundation.validate import Interval, InvalidProgram, Uniformity, validate

A = Buffer("a", u32, Access.READ, Memory.STORAGE, RUNTIME, 0)
OUT = Buffer("out", u32, Access.READ_WRITE, Memory.STORAGE, RUNTIME, 1)
GID = Id(IdKind.GLOBAL_ID, 0)


def add(x, y):
    return Apply(OPS["add"], x, y)


def test_a_chain_of_a_hundred_thousand_operators():
    x = Load(A, GID)
    for n in range(100_000):
        x = add(x, literal(u32, n % 7))
    facts = validate(Program("p", (A, OUT), (64, 1, 1), (Store(OUT, GID, x),)))
    assert facts.uniformity[x] is Uniformity.NONE
    assert facts.determinism.is_deterministic
    assert len(facts.ranges) == 100_009


def test_an_index_of_a_hundred_thousand_operators():
    x = GID
    for _ in range(100_000):
        x = add(x, literal(u32, 1))
    facts = validate(Program("p", (A, OUT), (64, 1, 1), (Store(OUT, x, GID),)))
    assert facts.determinism.is_deterministic


def test_a_hundred_thousand_doublings_share_their_operands():
    x = literal(u32, 1)
    for _ in range(100_000):
        x = add(x, x)
    facts = validate(Program("p", (), (1, 1, 1), (Let("x", x),)))
    assert facts.ranges[x] == Interval(0, 0)


def test_ten_thousand_locals_in_a_row():
    body = [Let("x0", GID)]
    body += [Let(f"x{n}", add(Local(f"x{n - 1}", u32), literal(u32, 1))) for n in range(1, 10_000)]
    facts = validate(Program("p", (OUT.replace(binding=0),), (64, 1, 1), (*body,)))
    assert len(facts.locals) == 10_000


def test_ten_thousand_mutable_locals_against_the_order_of_a_loop():
    """Each takes over from the next, so a level has the longest way."""
    body = [Var(f"x{n}", literal(u32, 0)) for n in range(10_000)]
    moves = [Assign(f"x{n}", Local(f"x{n + 1}", u32)) for n in range(9_999)]
    loop = Region("r", (*moves, Assign("x9999", GID)))
    facts = validate(Program("p", (), (64, 1, 1), (*body, loop)))
    assert facts.uniformity[Local("x9999", u32)] is Uniformity.NONE
    assert facts.uniformity[Local("x1", u32)] is Uniformity.NONE


def test_ten_thousand_statements_that_share_an_expression():
    x = Load(OUT, GID)
    for n in range(10_000):
        x = add(x, literal(u32, n % 7))
    body = [Let(f"x{n}", add(x, literal(u32, n))) for n in range(10_000)]
    facts = validate(Program("p", (A, OUT), (64, 1, 1), (*body, Store(OUT, GID, x))))
    assert [r.code for r in facts.determinism.reasons] == ["D005"]


def test_thousands_of_barriers_in_branches():
    test = Apply(OPS["eq"], Load(A, literal(u32, 0)), literal(u32, 1))
    tile = Buffer("t", u32, Access.READ_WRITE, Memory.WORKGROUP, 64)
    step = (If(test, (Barrier(),)), Store(tile, Id(IdKind.LOCAL_ID, 0), GID))
    facts = validate(Program("p", (A, tile), (64, 1, 1), step * 3000))
    assert facts.determinism.is_deterministic


def test_a_body_nested_beyond_all_limits_is_refused_without_recursion():
    body = (Return(),)
    for _ in range(50_000):
        body = (Region("r", body),)
    with pytest.raises(InvalidProgram) as caught:
        validate(Program("p", (), (1, 1, 1), body))
    assert [f.code for f in caught.value.findings] == ["V014"]
