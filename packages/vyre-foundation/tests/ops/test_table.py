"""The op table is one table: ids, tags, types, laws and witnesses fit together, and the witnesses hold."""

import pickle

import pytest

from vyre_foundation.dtype import DTYPES, FLOATS, DType, bool_, f32, i32, u8, u32
from vyre_foundation.ops import OPS, Op, Result, Tier, op, op_of_tag
from vyre_foundation.ops.definition import NO_LAWS
from vyre_foundation.ops.scalar import to_bits

every_op = pytest.mark.parametrize("row", OPS.values(), ids=OPS)


def test_rows_are_in_the_order_of_their_tags() -> None:
    tags = [row.tag for row in OPS.values()]
    assert tags == sorted(set(tags))
    assert all(id == row.id for id, row in OPS.items())


@every_op
def test_a_row(row: Op) -> None:
    assert op(row.id) is op_of_tag(row.tag) is row
    assert row.id.isidentifier()
    assert 1 <= row.arity <= 3
    assert set(row.accepts) <= set(DTYPES)
    assert set(row.results) == set(row.accepts)
    assert row.summary
    assert pickle.loads(pickle.dumps(row)) is row  # noqa: S301
    assert repr(row) == f"<op {row.id}>"


@every_op
def test_the_result_type(row: Op) -> None:
    for operand, result in row.results.items():
        match row.result:
            case Result.SAME:
                assert result is operand
            case Result.BOOL:
                assert result is bool_
            case Result.UNSIGNED:
                assert (result.name, result.bits) == (operand.name.replace("i", "u"), operand.bits)


@every_op
def test_raw_ops_and_only_they_have_a_precondition(row: Op) -> None:
    is_raw = row.tier is Tier.RAW
    assert row.id.startswith("raw_") == is_raw
    assert (row.precondition is not None) == is_raw
    assert (row.tag >= 128) == is_raw


@every_op
def test_laws_belong_to_the_arity_and_the_types(row: Op) -> None:
    for laws in (row.laws, row.float_laws):
        if row.arity != 2:
            assert not any((laws.commutative, laws.associative, laws.idempotent, laws.self_inverse))
            assert laws.identity is laws.absorbing is None
        if row.arity != 1:
            assert not laws.involution
    assert row.laws_for(f32) is row.float_laws
    assert row.laws_for(u8) is row.laws_for(bool_) is row.laws
    if not any(dtype in FLOATS for dtype in row.accepts):
        assert row.float_laws == NO_LAWS


@every_op
def test_witnesses(row: Op) -> None:
    assert row.witnesses
    for witness in row.witnesses:
        result = row.evaluate(witness.dtype, *witness.operands)
        expected = row.results[witness.dtype]
        assert to_bits(expected, result) == to_bits(expected, witness.result), (witness, result)
        assert type(result) is type(_of(expected))


def _of(dtype: DType) -> object:
    return False if dtype is bool_ else 0.0 if dtype.is_float else 0


@every_op
def test_witnesses_speak_of_each_kind_of_operand(row: Op) -> None:
    kinds = {dtype.kind for dtype in row.accepts}
    assert len(kinds & {witness.dtype.kind for witness in row.witnesses}) >= min(2, len(kinds)) or row.tier is Tier.RAW


def test_preconditions_of_raw_ops() -> None:
    for id in ("raw_div", "raw_rem"):
        precondition = OPS[id].precondition
        assert precondition is not None
        assert not precondition(u32, 1, 0)
        assert not precondition(i32, -(2**31), -1)
        assert precondition(i32, -(2**31), 1)
        assert precondition(i32, 7, -1)
    for id in ("raw_shl", "raw_shr"):
        precondition = OPS[id].precondition
        assert precondition is not None
        assert [precondition(i32, 1, count) for count in (-1, 0, 31, 32)] == [False, True, True, False]


def test_unknown_rows() -> None:
    with pytest.raises(KeyError):
        op("frobnicate")
    with pytest.raises(KeyError):
        op_of_tag(0)
