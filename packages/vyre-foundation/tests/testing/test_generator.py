"""Random programs: valid, reaching everything, the same in every process, and in the limits of their profile."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest

from vyre_foundation.dtype import DTYPES, bool_, f64, i64, u32, u64
from vyre_foundation.ir.buffer import LengthOf, Memory
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    AtomicOp,
    Barrier,
    Break,
    Continue,
    For,
    If,
    IndirectDispatch,
    Let,
    Region,
    Return,
    Scope,
    Stmt,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
    Var,
)
from vyre_foundation.ir.walk import program_expressions, statements
from vyre_foundation.ops import OPS, Tier
from vyre_foundation.testing import (
    DEFAULT,
    EVERYTHING,
    NARROW,
    STRAIGHT_LINE,
    STRUCTURED,
    WIDE,
    GeneratedProgram,
    Profile,
    generate,
)
from vyre_foundation.testing.dialect import COMPOSITIONS


@cache
def programs() -> list[GeneratedProgram]:
    return [generate(seed, EVERYTHING) for seed in range(300)]


@cache
def nodes() -> list[Expr]:
    return [node for g in programs() for node in program_expressions(g.program)]


@cache
def stmts() -> list[Stmt]:
    return [stmt for g in programs() for stmt in statements(g.program.body)]


def test_programs_of_everything_are_valid() -> None:
    for g in programs():
        g.program.validate()


each_other_profile = pytest.mark.parametrize("profile", [DEFAULT, NARROW, STRAIGHT_LINE, STRUCTURED, WIDE])


@each_other_profile
def test_programs_are_valid(profile: Profile) -> None:
    for seed in range(100):
        generate(seed, profile).program.validate()


@pytest.mark.slow
@each_other_profile
def test_more_programs_are_valid(profile: Profile) -> None:
    for seed in range(100, 300):
        generate(seed, profile).program.validate()


def test_every_op_is_applied_to_every_type_it_accepts() -> None:
    applied = Counter((node.op.id, node.args[0].dtype) for node in nodes() if isinstance(node, Apply))
    language = {(op.id, t) for op in OPS.values() if op.tier is Tier.LANGUAGE for t in op.accepts}
    assert language == set(applied)
    assert min(applied.values()) >= 2, applied.most_common()[-5:]


def test_every_cast_and_bitcast_occurs() -> None:
    casts = {(node.value.dtype, node.dtype) for node in nodes() if isinstance(node, Cast)}
    assert casts == {(source, target) for source in DTYPES for target in DTYPES}
    bitcasts = {(node.value.dtype, node.dtype) for node in nodes() if isinstance(node, Bitcast)}
    same_size = {(s, t) for s in DTYPES for t in DTYPES if s.bits == t.bits and s is not t and bool_ not in (s, t)}
    assert bitcasts == same_size


def test_every_kind_of_expression_occurs_in_every_type() -> None:
    for kind in (Literal, Local, Load, Select):
        assert {node.dtype for node in nodes() if isinstance(node, kind)} == set(DTYPES)
    assert {node.kind for node in nodes() if isinstance(node, Id)} == set(IdKind)
    assert any(isinstance(node, Length) for node in nodes())
    assert {node.callee for node in nodes() if isinstance(node, Call)} == {row.id for row in COMPOSITIONS}
    assert {node.buffer.memory for node in nodes() if isinstance(node, Load)} == set(Memory)


def test_every_statement_occurs() -> None:
    kinds = Counter(type(stmt) for stmt in stmts())
    expected = {
        *(Let, Var, Assign, Store, If, For, Break, Continue, Return),
        *(Barrier, Atomic, Subgroup, Trap, IndirectDispatch, Region),
    }
    assert set(kinds) == expected
    assert min(kinds.values()) >= 10, kinds
    assert {stmt.scope for stmt in stmts() if isinstance(stmt, Barrier)} == set(Scope)
    assert {stmt.op for stmt in stmts() if isinstance(stmt, Atomic)} == set(AtomicOp)
    assert {stmt.op for stmt in stmts() if isinstance(stmt, Subgroup)} == set(SubgroupOp)
    memories = {stmt.buffer.memory for stmt in stmts() if isinstance(stmt, Atomic)}
    assert memories >= {Memory.STORAGE, Memory.WORKGROUP, Memory.SCRATCH, Memory.PERSISTENT}


def test_barriers_occur_in_loops() -> None:
    loops = [stmt for stmt in stmts() if isinstance(stmt, For)]
    scopes = Counter(inner.scope for loop in loops for inner in statements(loop.body) if isinstance(inner, Barrier))
    assert scopes[Scope.WORKGROUP] >= 20
    assert scopes[Scope.GRID] >= 5


def test_launches_vary() -> None:
    assert {g.program.subgroup_size for g in programs()} >= {None, 1, 2, 4, 8, 16, 32, 64}
    shapes = Counter(sum(extent > 1 for extent in g.program.workgroup_size) for g in programs())
    assert min(shapes[axes] for axes in (1, 2, 3)) >= 5
    assert any(g.grid is None for g in programs())
    assert any(g.grid is not None and g.grid[1] > 1 for g in programs())
    assert any(g.iterations > 1 for g in programs())
    assert any(data == b"" for g in programs() for data in g.inputs.values())


def test_guards_speak_of_lengths_and_of_numbers_near_them() -> None:
    conditions = [stmt.condition for stmt in stmts() if isinstance(stmt, If) and isinstance(stmt.condition, Apply)]
    numbers = {Local(name, u32) for name in ("gid", "sid", "lid")}
    guards = [c for c in conditions if numbers & {*c.args}]
    assert {c.op.id for c in guards} >= {"lt", "le", "gt", "ge", "eq"}
    assert any(isinstance(arg, Length) for c in guards for arg in c.args)
    near = [arg for c in conditions for arg in c.args if isinstance(arg, Apply) and arg.op.id in ("add", "sub")]
    assert any(numbers & {*x.args} for x in near)
    assert any(isinstance(x.args[0], Length) for x in near)


def test_some_lengths_are_greater_than_those_that_they_follow_from() -> None:
    rules = [b.count for g in programs() for b in g.program.buffers if isinstance(b.count, LengthOf)]
    assert any(rule.plus for rule in rules)
    assert any(rule.times > 1 for rule in rules)


def test_some_launches_have_many_workgroups() -> None:
    groups = [g.grid[0] * g.grid[1] * g.grid[2] for g in programs() if g.grid is not None]
    assert max(groups) > 64


def test_places_are_copied_onto_themselves_and_found_by_xor() -> None:
    stores = [stmt for stmt in stmts() if isinstance(stmt, Store)]
    assert any(isinstance(s.value, Load) and (s.value.buffer, s.value.index) == (s.buffer, s.index) for s in stores)
    assert any(isinstance(n, Load) and isinstance(n.index, Apply) and n.index.op.id == "xor" for n in nodes())


def test_inputs_are_those_of_the_program() -> None:
    for g in programs():
        assert set(g.inputs) == {b.name for b in g.program.inputs}
        for buffer in g.program.inputs:
            size = len(g.inputs[buffer.name])
            assert size % buffer.dtype.size == 0
            assert not isinstance(buffer.count, int) or size == buffer.count * buffer.dtype.size


def test_a_profile_is_kept() -> None:
    profile = Profile(traps=False, subgroups=False, grid_barriers=False, axes=1).without(f64, u64, i64)
    for seed in range(100):
        g = generate(seed, profile)
        kinds = {type(stmt) for stmt in statements(g.program.body)}
        assert not kinds & {Trap, Subgroup}
        assert not any(isinstance(s, Barrier) and s.scope is Scope.GRID for s in statements(g.program.body))
        assert not {node.dtype for node in program_expressions(g.program)} & {f64, u64, i64}
        assert g.program.workgroup_size[1:] == (1, 1)


def test_only_keeps_u32_for_ids() -> None:
    assert set(DEFAULT.only([f64]).dtypes) == {u32, f64}


PRINT_DIGEST = """
import hashlib
from vyre_foundation.testing import EVERYTHING, generate
generated = [generate(seed, EVERYTHING) for seed in range(20)]
shown = "".join(f"{g.program.body}{g.program.buffers}{g.inputs}{g.grid}{g.iterations}" for g in generated)
print(hashlib.sha256(shown.encode()).hexdigest())
"""


def test_a_seed_gives_the_same_program_in_every_process() -> None:
    digests = set()
    for hash_seed in ("0", "1", "4242"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        result = subprocess.run([sys.executable, "-c", PRINT_DIGEST], capture_output=True, text=True, env=environment)
        assert result.returncode == 0, result.stderr
        digests.add(result.stdout)
    assert len(digests) == 1
    assert len(digests.pop().strip()) == len(hashlib.sha256().hexdigest())
