"""The corpus: complete, addressable, reproducible, and agreed on by every opinion."""

from collections import Counter
from functools import cache

import pytest

from vyre_conform.address import Query
from vyre_conform.case import Alike, AsEvaluated, Case, Exactly, Spec
from vyre_conform.cases import GROUPS, specs
from vyre_conform.cases.subgroups import legal_ops
from vyre_conform.oracle import settle
from vyre_conform.oracle.array_ops import array_opinion
from vyre_conform.oracle.precise import HAS_MPFR
from vyre_foundation.dtype import DTYPES, bool_
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Id, IdKind, Length, Literal, Load
from vyre_foundation.ir.stmt import (
    Atomic,
    AtomicOp,
    Barrier,
    IndirectDispatch,
    Scope,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
)
from vyre_foundation.ir.walk import program_expressions, statements
from vyre_foundation.ops import OPS, Tier
from vyre_foundation.ops.scalar import to_bits
from vyre_foundation.validate.facts import Feature

SPECS = specs()
LANGUAGE = [op for op in OPS.values() if op.tier is Tier.LANGUAGE]


def test_addresses_are_unique_and_in_their_group() -> None:
    assert max(Counter(str(spec.address) for spec in SPECS).values()) == 1
    assert {spec.address.group for spec in SPECS} == set(GROUPS)
    for group, cases in GROUPS.items():
        assert {spec.address.group for spec in cases()} == {group}


def test_every_op_has_a_case_for_every_type() -> None:
    addresses = {str(spec.address) for spec in SPECS}
    assert {f"ops:{op.id}:dtype={t}" for op in LANGUAGE for t in op.accepts} <= addresses


def test_queries_choose_in_corpus_order() -> None:
    chosen = specs([Query.parse("traps:*"), Query.parse("ops:add:dtype=u8")])
    assert [str(spec.address) for spec in chosen][:2] == ["ops:add:dtype=u8", "traps:none"]
    assert len(chosen) == len(specs([Query.parse("traps")])) + 1


@cache
def built(spec: Spec) -> Case:
    return spec.case()


OF_TYPES = {"ops", "literals", "floats", "laws", "recurrences"}
"""Groups whose cases of one name differ in types and sizes."""


def test_the_corpus_reaches_every_construct() -> None:
    """Most of the corpus repeats constructs with other types, so one case of a name has to do where it does that."""
    some = {spec.address.name if spec.address.group in OF_TYPES else spec: spec for spec in SPECS}
    programs = [built(spec).launch.program for spec in some.values()]
    nodes = [node for program in programs for node in program_expressions(program)]
    stmts = [stmt for program in programs for stmt in statements(program.body)]
    casts = {(n.value.dtype, n.dtype) for n in nodes if isinstance(n, Cast)}
    assert casts == {(s, t) for s in DTYPES for t in DTYPES}
    bitcasts = {(n.value.dtype, n.dtype) for n in nodes if isinstance(n, Bitcast)}
    assert bitcasts == {(s, t) for s in DTYPES for t in DTYPES if s.bits == t.bits and bool_ not in (s, t)}
    assert {n.op for n in nodes if isinstance(n, Apply)} == set(LANGUAGE)
    assert {n.kind for n in nodes if isinstance(n, Id)} == set(IdKind)
    assert {n.buffer.memory for n in nodes if isinstance(n, Length)} == set(Memory)
    assert {n.buffer.memory for n in nodes if isinstance(n, Load)} == set(Memory)
    assert {s.buffer.memory for s in stmts if isinstance(s, Store)} == set(Memory) - {Memory.UNIFORM, Memory.CONSTANT}
    assert {s.op for s in stmts if isinstance(s, Atomic)} == set(AtomicOp)
    assert {s.op for s in stmts if isinstance(s, Subgroup)} == set(SubgroupOp)
    assert {s.scope for s in stmts if isinstance(s, Barrier)} == set(Scope)
    assert any(isinstance(s, Trap) for s in stmts)
    assert any(isinstance(s, IndirectDispatch) for s in stmts)


def test_a_device_without_wide_types_is_judged_on_all_others() -> None:
    narrow = [t for t in DTYPES if t.bits < 64]
    groups = ("casts", "literals", "floats", "memory", "subgroups", "temptations")
    programs = [built(spec).launch.program for spec in SPECS if spec.address.group in groups]
    programs = [p for p in programs if not p.validate().features & {Feature.F64, Feature.INT64}]
    nodes = [node for program in programs for node in program_expressions(program)]
    assert {(n.value.dtype, n.dtype) for n in nodes if isinstance(n, Cast)} == {(s, t) for s in narrow for t in narrow}
    folded = {(n.op, n.args[0].dtype) for n in nodes if isinstance(n, Apply) and isinstance(n.args[0], Literal)}
    assert folded == {(op, t) for op in LANGUAGE for t in op.accepts if t in narrow}
    collectives = [s for p in programs for s in statements(p.body) if isinstance(s, Subgroup)]
    voted = {s.op for s in collectives if s.value.dtype is bool_}
    assert voted == {op for op in legal_ops(bool_) if op.result_type(bool_) in narrow}


def test_a_seed_gives_the_same_case() -> None:
    for spec in SPECS[::37]:
        one, other, third = spec.case(1), spec.case(1), spec.case(2)
        assert one.launch == other.launch
        assert one.expected == other.expected
        assert one.launch.program == third.launch.program or spec.address.group == "literals"


def test_witnesses_come_first() -> None:
    by_name = {str(spec.address): spec for spec in SPECS}
    for op in LANGUAGE:
        for dtype in op.accepts:
            witnesses = [w for w in op.witnesses if w.dtype is dtype]
            case = built(by_name[f"ops:{op.id}:dtype={dtype}"])
            assert isinstance(case.expected, Exactly)
            result = op.results[dtype]
            wanted = b"".join(to_bits(result, w.result).to_bytes(result.size, "little") for w in witnesses)
            assert case.expected.outputs[0].startswith(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_the_opinions_agree(group: str) -> None:
    """As they do in `tox -e conform-all`, which asks about all cases."""
    cases = [spec for spec in SPECS if spec.address.group == group]
    some = cases[:: 1 + len(cases) // 4]
    mismatches = {str(spec.address): settle(built(spec)).mismatches for spec in some}
    assert not {case: found for case, found in mismatches.items() if found}


def named(query: str) -> Spec:
    (spec,) = specs([Query.parse(query)])
    return spec


def test_numpy_has_an_opinion_of_nearly_every_op() -> None:
    ops = [spec for spec in specs([Query.parse("ops:*"), Query.parse("casts:*")]) if spec.parts]
    silent = {str(spec.address) for spec in ops if not array_opinion(built(spec).launch)}
    assert silent == (set() if HAS_MPFR else {"ops:fma:dtype=f64"})


def test_parts_are_all_the_elements_once() -> None:
    """No element of a launch with parts is judged by no cell, and none by two."""
    for spec in SPECS:
        case = built(spec)
        if spec.parts:
            assert [part.address for part in case.parts] == list(spec.parts)
            assert isinstance(case.expected, Exactly | Alike | AsEvaluated)
            for buffer in case.launch.program.outputs:
                own = [part.rows for part in case.parts if not part.outputs or buffer.name in part.outputs]
                rows = [n for part in own for n in part]
                assert rows == list(range(len(rows)))
                if isinstance(case.expected, Exactly):
                    size = len(case.expected.outputs[case.launch.program.outputs.index(buffer)])
                    assert len(rows) * buffer.dtype.size == size


def test_a_wrong_expectation_is_the_suites_fault() -> None:
    case = named("ops:add:dtype=u8").case()
    assert isinstance(case.expected, Exactly)
    from dataclasses import replace

    wrong = replace(case, expected=Exactly((bytes(len(case.expected.outputs[0])),)))
    assert set(settle(wrong).mismatches) == {"scalar", "vector", "optimized", "numpy"}
