"""Programs and statements as values."""

import copy
import pickle

import pytest

from vyre_foundation import Program, encode, fingerprint, parse, print_program, validate
from vyre_foundation.dtype import DTYPES, bool_, f32, u32, u64
from vyre_foundation.ir import Atomic, AtomicOp, For, If, Store, Subgroup, SubgroupOp, Trap, literal
from vyre_foundation.ir.stmt import MAX_NESTING

TEXT = """program p workgroup(8, 4, 2) {
  read a: u32[] @0;
  write b: u32[len(a)] @1;
  read_write c: u32[] @2;
  uniform d: u32[4] @3;
  scratch e: u32[4] @4;
  workgroup f: u32[4];

  b[global_id.x] = a[global_id.x] + d[0];
}
"""


@pytest.fixture
def p() -> Program:
    return parse(TEXT)


def test_interface(p: Program) -> None:
    assert [b.name for b in p.inputs] == ["a", "c", "d"]
    assert [b.name for b in p.outputs] == ["b", "c"]
    assert p.buffer("f") is p.buffers[5]
    assert p.workgroup_volume == 64
    with pytest.raises(KeyError):
        p.buffer("g")


def test_statements_of_a_kind_are_in_program_order() -> None:
    p = parse(
        "program p workgroup(1) { write a: u32[4] @0; if true { a[0] = 1; } a[1] = 2; for i in 0..4 { a[i] = 3; } }"
    )
    assert [stmt.value for stmt in p.of(Store)] == [literal(u32, n) for n in (1, 2, 3)]
    assert [*p.of(If), *p.of(For)] == [p.body[0], p.body[2]]
    assert not p.of(Trap)


def test_equality_is_by_contents(p: Program) -> None:
    assert p == parse(TEXT)
    assert hash(p) == hash(parse(TEXT))
    assert p != parse(TEXT.replace("program p", "program q"))
    assert len({p, parse(TEXT), parse(TEXT.replace("d[0]", "d[1]"))}) == 2


def test_programs_are_immutable(p: Program) -> None:
    with pytest.raises(AttributeError):
        p.name = "q"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        p.body[0].index = p.body[0].value  # type: ignore[misc, union-attr]


def test_what_follows_is_computed_once(p: Program) -> None:
    assert p.encode() is p.encode()
    assert p.fingerprint() is p.fingerprint()
    assert p.validate() is p.validate()
    assert (p.encode(), p.fingerprint()) == (encode(p), fingerprint(p))
    assert p.validate() == validate(p)


def test_text_and_copies(p: Program) -> None:
    assert str(p) == print_program(p) == TEXT
    p.validate()
    assert pickle.loads(pickle.dumps(p)) == copy.copy(p) == copy.deepcopy(p) == p  # noqa: S301


def test_collectives() -> None:
    families = {op: (op.family, op.combine) for op in SubgroupOp}
    assert families[SubgroupOp.REDUCE_MIN] == ("reduce", "min")
    assert families[SubgroupOp.EXCLUSIVE_SCAN_XOR] == ("exclusive_scan", "xor")
    assert families[SubgroupOp.SHUFFLE_XOR] == ("shuffle_xor", None)
    assert families[SubgroupOp.BALLOT] == ("ballot", None)
    assert [op.value for op in SubgroupOp if op.takes_lane] == ["broadcast", "shuffle", "shuffle_xor"]
    for op in SubgroupOp:
        for dtype in DTYPES:
            expected = {"ballot": u64, "any": bool_, "all": bool_}.get(op.value, dtype)
            assert op.result_type(dtype) is expected


def test_statements_are_values(p: Program) -> None:
    store = p.body[0]
    assert store == parse(TEXT).body[0]
    index = store.index  # type: ignore[union-attr]
    assert Atomic(AtomicOp.ADD, p.buffers[2], index, index) == Atomic(AtomicOp.ADD, p.buffers[2], index, index)
    assert Subgroup(SubgroupOp.ANY, index) != Subgroup(SubgroupOp.ALL, index)
    assert MAX_NESTING == 64
    assert f32.size == u32.size == 4
