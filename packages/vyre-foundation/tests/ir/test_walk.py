"""Orders, children and rewriting, against a recursion that is obviously right."""

from random import Random

import pytest

from vyre_foundation.dtype import u32
from vyre_foundation.ir import (
    Access,
    Apply,
    Assign,
    Atomic,
    AtomicOp,
    Barrier,
    Break,
    Buffer,
    Continue,
    Expr,
    For,
    If,
    IndirectDispatch,
    Let,
    Literal,
    Local,
    Memory,
    Program,
    Region,
    Select,
    Stmt,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
    Var,
)
from vyre_foundation.ir.walk import (
    bodies,
    expressions,
    jumps_of,
    missing,
    postorder,
    program_expressions,
    rewrite,
    rewrite_body,
    statements,
    with_bodies,
    with_expressions,
)
from vyre_foundation.ops import OPS

B = Buffer("b", u32, Access.READ_WRITE, Memory.STORAGE, 4, 0)
X, Y, Z, W = (Local(name, u32) for name in "xyzw")
TRUE = Apply(OPS["eq"], X, X)


def graph(seed: int) -> list[Expr]:
    random = Random(seed)
    pool: list[Expr] = [X, Y, Literal(u32, 1), Literal(u32, 2)]
    for _ in range(60):
        first, second = random.choice(pool), random.choice(pool[-5:])
        pool.append(
            Apply(OPS[random.choice(("add", "mul"))], first, second)
            if random.random() < 0.8
            else Select(TRUE, first, second)
        )
    return random.choices(pool, k=5)


def recursive(roots: list[Expr]) -> list[Expr]:
    order: list[Expr] = []

    def visit(node: Expr) -> None:
        for operand in node.args:
            if operand not in order:
                visit(operand)
        if node not in order:
            order.append(node)

    for root in roots:
        visit(root)
    return order


@pytest.mark.parametrize("seed", range(20))
def test_postorder(seed: int) -> None:
    roots = graph(seed)
    assert postorder(roots) == recursive(roots)
    done: set[Expr] = set()
    parts = [postorder([root], done) for root in roots]
    assert [node for part in parts for node in part] == recursive(roots)
    assert done == set(recursive(roots))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_missing(seed: int) -> None:
    roots = graph(seed)
    known: dict[Expr, None] = {}
    for root in roots:
        for node in missing(root, known):
            assert all(operand in known for operand in node.args)
            assert node not in known
            known[node] = None
    assert list(known) == recursive(roots)


def test_what_becomes_known_in_the_meantime_is_not_missing() -> None:
    inner = Apply(OPS["add"], X, Y)
    outer = Apply(OPS["mul"], inner, X)
    known: set[Expr] = set()
    met = []
    for node in missing(outer, known):
        met.append(node)
        known |= {node, inner}
    assert met == [X, Y, outer]


@pytest.mark.parametrize("seed", range(20))
def test_rewriting(seed: int) -> None:
    def replaced(node: Expr) -> Expr:
        if node is X:
            return Z
        return node.rebuild(tuple(map(replaced, node.args))) if node.args else node

    memo: dict[Expr, Expr] = {}
    for root in graph(seed):
        assert rewrite(root, lambda node: Z if node is X else node, memo) is replaced(root)
        assert rewrite(root, lambda node: node, {}) is root


def test_rules_see_operands_that_are_rewritten_already() -> None:
    fold = {Apply(OPS["add"], X, Y): Z, Apply(OPS["mul"], Z, Z): W}
    root = Apply(OPS["mul"], Apply(OPS["add"], X, Y), Apply(OPS["add"], X, Y))
    assert rewrite(root, lambda node: fold.get(node, node), {}) is W


def test_deep_graphs() -> None:
    e: Expr = X
    for _ in range(30_000):
        e = Apply(OPS["add"], e, Y)
    assert len(postorder([e])) == 30_002
    renamed = rewrite(e, lambda node: Z if node is X else node, {})
    assert postorder([renamed])[0] is Z


# One of each kind of statement with expressions or bodies, and the expressions in their order.
LEAF = (Break(),)
KINDS: list[tuple[Stmt, tuple[Expr, ...]]] = [
    (Let("a", X), (X,)),
    (Var("a", X), (X,)),
    (Assign("a", X), (X,)),
    (Store(B, X, Y), (X, Y)),
    (Store(B, X, Y, False), (X, Y)),
    (If(TRUE, LEAF, LEAF), (TRUE,)),
    (For("i", X, Y, 2, LEAF), (X, Y)),
    (Atomic(AtomicOp.ADD, B, X, Y, None, "r", False), (X, Y)),
    (Atomic(AtomicOp.COMPARE_EXCHANGE, B, X, Y, Z), (X, Y, Z)),
    (Subgroup(SubgroupOp.ANY, TRUE, None, "r"), (TRUE,)),
    (Subgroup(SubgroupOp.SHUFFLE, X, Y), (X, Y)),
    (Trap(X, "tag"), (X,)),
    (Region("r", LEAF), ()),
    (Barrier(), ()),
    (IndirectDispatch(B, 3), ()),
]


@pytest.mark.parametrize(("stmt", "own"), KINDS)
def test_expressions_of_statements(stmt: Stmt, own: tuple[Expr, ...]) -> None:
    assert expressions(stmt) == own
    assert with_expressions(stmt, lambda e: e) is stmt
    to_w = {X: W, Y: Local("v", u32), Z: Local("u", u32), TRUE: Apply(OPS["ne"], X, X)}
    changed = with_expressions(stmt, to_w.__getitem__)
    assert expressions(changed) == tuple(to_w[e] for e in own)
    assert with_expressions(changed, {new: old for old, new in to_w.items()}.__getitem__) == stmt
    assert bodies(changed) == bodies(stmt)


@pytest.mark.parametrize(("stmt", "own"), KINDS)
def test_bodies_of_statements(stmt: Stmt, own: tuple[Expr, ...]) -> None:
    assert with_bodies(stmt, lambda body: body) is stmt
    changed = with_bodies(stmt, lambda body: (*body, Barrier()))
    assert bodies(changed) == tuple((*body, Barrier()) for body in bodies(stmt))
    assert expressions(changed) == own


BODY = (
    Let("a", X),
    If(TRUE, (Store(B, X, Y), Break()), (Region("r", (Trap(X, "t"),)),)),
    For("i", X, Y, 1, (If(TRUE, (), LEAF),)),
    Barrier(),
)


def test_statements_in_the_order_of_the_program() -> None:
    kinds = [type(stmt).__name__ for stmt in statements(BODY)]
    assert kinds == "Let If Store Break Region Trap For If Break Barrier".split()
    assert program_expressions(Program("p", (B,), (1, 1, 1), BODY)) == [X, TRUE, Y]


def test_rewriting_bodies() -> None:
    def inner_first(stmt: Stmt) -> Stmt:
        seen.append(type(stmt).__name__)
        return stmt

    seen: list[str] = []
    assert rewrite_body(BODY, inner_first) is BODY
    assert seen == "Let Store Break Trap Region If Break If For Barrier".split()


def test_a_statement_becomes_several_or_none() -> None:
    def rule(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        match stmt:
            case Region(_, body):
                return body
            case Break():
                return ()
            case Store():
                return (stmt, stmt)
        return stmt

    assert rewrite_body(BODY, rule) == (
        Let("a", X),
        If(TRUE, (Store(B, X, Y), Store(B, X, Y)), (Trap(X, "t"),)),
        For("i", X, Y, 1, (If(TRUE, (), ()),)),
        Barrier(),
    )


def test_a_jump_belongs_to_the_innermost_loop_around_it() -> None:
    inner = For("j", X, Y, 1, (If(TRUE, (Break(),), ()), Continue()))
    assert not list(jumps_of(inner))
    assert list(jumps_of(*inner.body)) == [Break(), Continue()]
    assert list(jumps_of(Region("r", (inner, If(TRUE, (inner,), (Continue(),)))))) == [Continue()]
