"""What may be called: compositions of pure ops over their operands."""

import pytest

from vyre_foundation.dialects import Composition, call, register, unregister
from vyre_foundation.dtype import f32, i32, u32
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Call, Cast, Id, IdKind, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ops import OPS
from vyre_foundation.validate import InvalidProgram, Uniformity, validate
from vyre_foundation.validate.calls import _verdict, reached

TABLE = Buffer("table", u32, Access.READ, Memory.CONSTANT, 1, data=bytes(4))


def same(x):
    return x


# fmt: off
BODIES = {
    "pure":     lambda x: Apply(OPS["add"], x, Apply(OPS["mul"], x, literal(u32, 3))),
    "nested":   lambda x: call("t.pure", call("t.pure", x)),
    "reads":    lambda x: Load(TABLE, x),
    "where":    lambda x: Apply(OPS["add"], x, Id(IdKind.LOCAL_ID, 0)),
    "captures": lambda x: Apply(OPS["add"], x, Local("y", u32)),
    "raw":      lambda x: Apply(OPS["raw_div"], x, x),
    "unsafe":   lambda x: Cast(u32, Cast(f32, x), checked=False),
    "mistyped": lambda x: Cast(i32, x),
    "itself":   lambda x: Call("t.itself", u32, x),
    "there":    lambda x: Call("t.back", u32, x),
    "back":     lambda x: Call("t.there", u32, x),
    "of where": lambda x: Call("t.where", u32, x),
    "wrong":    lambda x: Call("t.pure", u32, x, x),
    "broken":   lambda x: Apply(OPS["sqrt"], x),
    "nothing":  lambda x: None,
    "number":   lambda x: 1.5,
    "fails":    lambda x: 1 / 0,
    "binary":   lambda x, y: x,
    "nobody":   lambda x: Call("nobody.knows", u32, x),
}
# fmt: on


@pytest.fixture(autouse=True)
def dialect():
    rows = [Composition(f"t.{name}", {(u32,): u32}, body) for name, body in BODIES.items()]
    register(rows)
    yield
    unregister(row.id for row in rows)


def finding(name):
    program = Program("p", (), (4, 1, 1), (Let("x", Call(f"t.{name}", u32, literal(u32, 1))),))
    with pytest.raises(InvalidProgram) as caught:
        validate(program)
    (found,) = caught.value.findings
    return f"{found.code} {found.message}"


def test_calls_are_as_uniform_as_their_operands():
    values = [Call("t.nested", u32, x) for x in (literal(u32, 1), Id(IdKind.WORKGROUP_ID, 0), Id(IdKind.GLOBAL_ID, 0))]
    facts = validate(Program("p", (), (4, 1, 1), tuple(Let(f"x{n}", v) for n, v in enumerate(values))))
    assert [facts.uniformity[v] for v in values] == [Uniformity.LAUNCH, Uniformity.WORKGROUP, Uniformity.NONE]
    assert all(tuple(facts.ranges[v]) == (0, 2**32 - 1) for v in values)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("reads", "expands to an expression with table[__operand0], which is no operand"),
        ("where", "expands to an expression with local_id.x, which is no operand"),
        ("captures", "expands to an expression with the local 'y', which is no operand"),
        ("raw", "expands to an expression with raw_div, which is for legalizers"),
        ("unsafe", "expands to an expression with an unchecked cast, which is for legalizers"),
        ("mistyped", "expands to i32, not u32"),
        ("itself", "calls t.itself, which expands to itself"),
        ("there", "calls t.back, which calls t.there, which expands to itself"),
        ("of where", "calls t.where, which expands to an expression with local_id.x, which is no operand"),
        ("wrong", "calls t.pure, which has no signature for (u32, u32)"),
        ("nothing", "expands to None, not to an expression"),
        ("number", "expands to 1.5, not to an expression"),
        ("fails", "cannot be expanded (ZeroDivisionError: division by zero)"),
        ("broken", "cannot be expanded (sqrt got u32, expected one of f16 bf16 f32 f64)"),
    ],
)
def test_what_is_no_composition(name, what):
    expected = f"V064 got t.{name}, which {what}, expected a composition of pure ops over its operands"
    assert finding(name) == expected


def test_a_function_of_other_operands_is_no_composition():
    assert finding("binary").startswith("V064 got t.binary, which cannot be expanded (TypeError: ")


def test_a_call_inside_of_a_composition_must_be_known_too():
    assert finding("nobody").startswith("V064 got t.nobody, which cannot be expanded (no installed dialect defines")


def test_a_row_is_judged_once_and_a_new_one_again(monkeypatch):
    count = []
    unregister(["t.pure"])
    register([Composition("t.pure", {(u32,): u32}, lambda x: count.append(x) or x)])
    for _ in range(3):
        assert _verdict(("t.pure", (u32,), ()), ()).wrong is None
    assert len(count) == 1
    unregister(["t.pure"])
    register([Composition("t.pure", {(u32,): u32}, BODIES["where"])])
    assert _verdict(("t.pure", (u32,), ()), ()).wrong is not None


def test_what_a_call_comes_to():
    assert reached(Call("t.nested", u32, literal(u32, 1))) == {"t.nested", "t.pure"}
