"""Code for a stack machine: running it pushes the roots, and nothing is made twice."""

from random import Random

import pytest

from vyre_foundation.dtype import bool_, u32
from vyre_foundation.ir import Apply, Expr, Let, Literal, Local, Program, Select
from vyre_foundation.ir.code import Code, code
from vyre_foundation.ir.walk import postorder, program_expressions
from vyre_foundation.ops import OPS

X, Y, FLAG = Local("x", u32), Local("y", u32), Local("flag", bool_)
ADD, SUB = OPS["add"], OPS["sub"]


def graph(seed: int) -> list[Expr]:
    random = Random(seed)
    pool: list[Expr] = [X, Y, Literal(u32, 1)]
    for _ in range(80):
        a, b, c = (random.choice(pool[-12:]) for _ in range(3))
        kinds = (Apply(SUB, a, b), Apply(OPS["neg"], a), Select(FLAG, b, c), a)
        pool.append(random.choice(kinds))
    return pool


def run(made: Code) -> tuple[list[Expr], list[Expr]]:
    """What a stack machine makes, and what is on its stack in the end."""
    stack: list[Expr] = []
    known: list[Expr] = []
    for number in made.pushes.tolist():
        expr = made.nodes[number]
        if number == len(known):
            known.append(expr)
            operands = tuple(stack[len(stack) - len(expr.args) :])
            del stack[len(stack) - len(expr.args) :]
            assert operands == expr.args
        stack.append(expr)
    return known, stack


@pytest.mark.parametrize("seed", range(20))
def test_a_stack_machine_pushes_the_roots(seed: int) -> None:
    roots = Random(seed).sample(graph(seed), 9)
    made = code(roots)
    known, stack = run(made)
    assert known == made.nodes == postorder(roots)
    assert stack == roots
    assert made.ends == [len(postorder(roots[: n + 1])) for n in range(len(roots))]


def pushed(made: Code) -> list[Expr]:
    return [made.nodes[number] for number in made.pushes.tolist()]


def test_operands_of_swapped_ones_come_the_other_way_round() -> None:
    inner, outer = Apply(SUB, X, Y), Apply(ADD, Apply(SUB, X, Y), X)
    assert pushed(code([outer])) == [X, Y, inner, X, outer]
    assert pushed(code([outer], {outer})) == [X, X, Y, inner, outer]
    assert pushed(code([outer], {inner, outer})) == [X, Y, X, inner, outer]


def test_a_program_keeps_its_code() -> None:
    p = Program("p", (), (1, 1, 1), (Let("a", Apply(ADD, X, X)), Let("b", X)))
    assert p.code is p.code
    assert p.code.pushes.tolist() == [0, 0, 1, 0]
    assert [*map(list, p.code.reuses)] == [[1, 3], [1, 2]]
    assert program_expressions(p) == [X, Apply(ADD, X, X)]


def test_a_long_chain_needs_no_deep_stack() -> None:
    e: Expr = X
    for _ in range(100_000):
        e = Apply(ADD, Y, e)
    assert len(code([e]).nodes) == 100_002


def test_tags_tell_applications_from_others() -> None:
    made = code([Apply(SUB, X, Select(FLAG, X, Y)), Apply(ADD, X, Y)])
    assert list(made.tags) == [node.op.tag if isinstance(node, Apply) else 0 for node in made.nodes]
    assert made.others == [node for node in made.nodes if not isinstance(node, Apply)]
    assert [made.nodes[number] for number in made.numbers_of((ADD.tag, SUB.tag))] == [
        Apply(SUB, X, Select(FLAG, X, Y)),
        Apply(ADD, X, Y),
    ]


def test_nodes_of_a_kind_are_in_the_order_of_the_code() -> None:
    made = code([Apply(ADD, Y, X), Literal(u32, 5), FLAG])
    assert made.of(Local) == [Y, X, FLAG]
    assert made.of(Literal) == [Literal(u32, 5)]
    assert made.of(Select) == []
    assert made.numbers_by_kind == {Local: [0, 1, 4], Literal: [3]}
