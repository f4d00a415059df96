"""Forms say what expressions are: modulo the width always, and exactly where they claim it."""

from math import prod
from random import Random

import pytest

from vyre_foundation.dtype import i32, u8, u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Id, IdKind, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let, Var
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import OPS, scalar
from vyre_foundation.text import parse
from vyre_foundation.validate import validate
from vyre_foundation.validate.declared import declaration
from vyre_foundation.validate.determinism.forms import GLOBAL, GROUP, MAX_TERMS, Polynomial, Polynomials
from vyre_foundation.validate.determinism.stability import find_stability
from vyre_foundation.validate.outline import outline

LEAVES = [Id(kind, axis) for kind in (IdKind.GLOBAL_ID, IdKind.LOCAL_ID, IdKind.WORKGROUP_ID) for axis in (0, 1)]


def forms_of(program, axes=frozenset((0,))):
    facts = validate(program)
    declared = {d[0]: p for p in outline(program).places if (d := declaration(p.stmt)) is not None}
    nodes = list(facts.uniformity)
    return Polynomials(program, declared, facts.ranges, find_stability(nodes, declared, frozenset()).unstable, axes)


def grown(rng):
    """Random index arithmetic over ids, some of it bound to locals, with the statements that bind it."""
    pool, body = [*LEAVES], [Var("m", LEAVES[0])]
    pool.append(Local("m", u32))
    for n in range(14):
        x = rng.choice(pool)
        same = [e for e in pool if e.dtype is x.dtype] + [literal(x.dtype, rng.choice((0, 1, 2, 3, 8, 64)))] * 2
        y = rng.choice(same)
        draw = rng.random()
        if draw < 0.2:
            x = Cast(rng.choice((u8, i32, u32, u64)), x)
        elif draw < 0.3:
            body.append(Let(f"x{n}", x))
            x = Local(f"x{n}", x.dtype)
        elif draw < 0.4:
            x = Apply(OPS["shl"], x, literal(x.dtype, rng.choice((1, 4, 31))))
        else:
            x = Apply(OPS[rng.choice(("add", "sub", "mul", "or", "xor"))], x, y) if draw < 0.9 else Apply(OPS["neg"], x)
        pool.append(x)
    return pool, body


def values_of(pool, body, ids):
    bound = {stmt.name: stmt.value for stmt in body}
    values = {}

    def value(root):
        for node in postorder((root,)):
            args = [values[a] for a in node.args]
            match node:
                case Id():
                    values[node] = ids[node]
                case Local():
                    values[node] = values.get(node) if node in values else value(bound[node.name])
                case Apply():
                    values[node] = node.op.evaluate(node.args[0].dtype, *args)
                case Cast():
                    values[node] = scalar.cast(node.value.dtype, node.dtype, args[0])
                case _:
                    values[node] = node.value
        return values[root]

    for root in pool:
        value(root)
    return values


def total(form, values):
    return form.const + sum(c * prod(values[leaf] for leaf in m) for m, c in form.terms.items())


@pytest.mark.parametrize("seed", range(60))
def test_a_form_is_the_value(seed):
    rng = Random(seed)
    pool, body = grown(rng)
    program = Program("p", (), (8, 2, 1), (*body, *[Let(f"p{n}", e) for n, e in enumerate(pool)]))
    forms = forms_of(program)
    for _ in range(8):
        group = {axis: rng.choice((0, 1, rng.randrange(2**28))) for axis in (0, 1)}
        local = {0: rng.randrange(8), 1: rng.randrange(2)}
        ids = {}
        for axis, size in ((0, 8), (1, 2)):
            ids[Id(IdKind.LOCAL_ID, axis)] = local[axis]
            ids[Id(IdKind.WORKGROUP_ID, axis)] = group[axis]
            ids[Id(IdKind.GLOBAL_ID, axis)] = group[axis] * size + local[axis]
        values = values_of(pool, body, ids)
        for expr in pool:
            assert (total(forms.of(expr), values) - values[expr]) % 2**expr.dtype.bits == 0, expr
            exact = forms.exact(expr, {})
            if exact is not None:
                assert total(exact[0], values) == values[expr], expr
                assert exact[1].low <= values[expr] <= exact[1].high


def form(text, axes=frozenset((0, 1, 2)), launch="workgroup(16, 4, 1)"):
    program = parse(f"program p {launch} {{ read a: u32[] @0; {text} }}")
    return forms_of(program, axes).of(program.body[-1].value)


@pytest.mark.parametrize(
    "text",
    [
        "let x = (global_id.z * (num_workgroups.y * 4) + global_id.y) * (num_workgroups.x * 16) + global_id.x;",
        "let x = global_id.x + 16 * num_workgroups.x * (global_id.y + num_workgroups.y * 4 * global_id.z);",
        """let r = num_workgroups.x << 4; let p = (num_workgroups.y << 2) * r;
           let x = global_id.z * p + (global_id.y * r + global_id.x);""",
    ],
)
def test_the_linear_global_id_however_it_is_written(text):
    assert form(text) == Polynomial(0, {(GLOBAL,): 1})


def test_the_linear_workgroup_id_in_a_sum():
    text = "let g = (workgroup_id.z * num_workgroups.y + workgroup_id.y) * num_workgroups.x + workgroup_id.x;"
    assert form(text + "let x = g * 64 + 5;") == Polynomial(5, {(GROUP,): 64})
    plane = "let g = workgroup_id.y * num_workgroups.x + workgroup_id.x; let x = g + g;"
    assert form(plane, frozenset((0, 1))) == Polynomial(0, {(GROUP,): 2})


@pytest.mark.parametrize(
    "text",
    [
        "let x = global_id.y * num_workgroups.x + global_id.x;",
        "let x = global_id.y * (num_workgroups.x * 15) + global_id.x;",
        "let x = global_id.y * (num_workgroups.y * 16) + global_id.x;",
    ],
)
def test_what_only_looks_like_a_linear_id(text):
    assert (GLOBAL,) not in form(text, frozenset((0, 1))).terms


def test_a_local_that_read_what_may_change_is_a_leaf():
    assert form("var m = global_id.x; let t = m + 1; let x = t * 2;") == Polynomial(0, {(Local("t", u32),): 2})
    assert form("let t = a[0] + 1; let x = t * 2;").const == 2


def test_forms_do_not_grow_with_the_program():
    sums = "".join(f"let t{n} = a[{n}]{f' + t{n - 1}' if n else ''};" for n in range(3 * MAX_TERMS))
    assert len(form(sums + f"let x = t{3 * MAX_TERMS - 1};").terms) <= MAX_TERMS
    squares = "let t0 = a[0];" + "".join(f"let t{n} = t{n - 1} * t{n - 1};" for n in range(1, 20))
    assert len(form(squares + "let x = t19;").terms) == 1
