"""The table of all ops: the language's and the dialects', in one form."""

import pytest

from vyre_driver.compat import DuplicateOpIdError
from vyre_driver.registry.dialects import (
    LANGUAGE,
    AttrSchema,
    AttrType,
    Category,
    DialectRegistry,
    LoweringTable,
    OpBackendTarget,
    TextModule,
    intern_string,
)  # fmt: skip
from vyre_foundation import dialects, f32, u32
from vyre_foundation.dialects import Composition, UnknownCallee
from vyre_foundation.ops import OPS, Tier

ROW = Composition("here.same", {(f32,): f32}, lambda x: x, "x itself")


@pytest.fixture(autouse=True)
def registered():
    dialects.register([ROW])
    yield
    dialects.unregister([ROW.id])


def test_ops_of_the_language_and_of_dialects_are_in_one_table() -> None:
    found = DialectRegistry.current()
    add, same = found.lookup("add"), found.lookup("here.same")
    assert (add.dialect, add.category, str(add.signatures[0])) == (LANGUAGE, Category.INTRINSIC, "(u8, u8) -> u8")
    assert add.laws is not None
    assert add.laws.commutative
    assert (same.dialect, same.category, same.summary) == ("here", Category.COMPOSITE, "x itself")
    assert [str(s) for s in same.signatures] == ["(f32) -> f32"]
    assert {op.id for op in found} >= {id for id, op in OPS.items() if op.tier is Tier.LANGUAGE}


def test_attributes_and_texts_are_part_of_an_op() -> None:
    bias = AttrSchema("bias", AttrType(u32), 1)
    text = LoweringTable({"test C": lambda ctx: TextModule("", ctx.symbol), "another": lambda ctx: None})
    row = Composition("here.biased", {(f32, u32): f32}, lambda x, _: x, attrs=(bias,), lowerings=text)
    dialects.register([row])
    try:
        found = DialectRegistry.current().lookup("here.biased")
        ((signature,), targets) = found.signatures, found.targets
        assert str(signature) == "(f32, bias: u32 = 1) -> f32"
        assert ([p.name for p in signature.inputs], signature.attrs) == (["x0"], (bias,))
        assert targets == (OpBackendTarget(found.id, "another"), OpBackendTarget(found.id, "test C"))
        assert DialectRegistry.current().lookup("add").targets == ()
    finally:
        dialects.unregister(["here.biased"])


def test_raw_ops_are_not_in_it() -> None:
    assert not {op.id for op in DialectRegistry.current()} & {id for id, op in OPS.items() if op.tier is Tier.RAW}


def test_a_snapshot_does_not_change() -> None:
    found = DialectRegistry.current()
    dialects.unregister([ROW.id])
    assert found.lookup("here.same").id == "here.same"
    with pytest.raises(UnknownCallee, match=r"no op 'here\.same' is known .* Fix: install"):
        DialectRegistry.current().lookup("here.same")


def test_ids_are_one_object() -> None:
    assert intern_string("".join(["here", ".same"])) is DialectRegistry.current().lookup("here.same").id


def test_two_ops_of_one_id() -> None:
    with pytest.raises(DuplicateOpIdError):
        dialects.register([ROW])
