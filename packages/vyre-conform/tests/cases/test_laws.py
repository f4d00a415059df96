"""Laws are those of the table, and a backend that breaks one is found without anybody knowing the right answer."""

from vyre_conform.address import Query
from vyre_conform.case import Alike
from vyre_conform.cases import specs
from vyre_conform.cases.laws import SIDES, laws_of
from vyre_conform.compare import difference
from vyre_conform.oracle import settle
from vyre_conform.outcome import Returned
from vyre_foundation.dtype import f32, i32, u8
from vyre_foundation.ops import OPS

SPECS = specs([Query.parse("laws:*")])


def test_laws_are_those_of_the_table() -> None:
    assert laws_of(OPS["add"], u8) == ["commutative", "associative", "identity"]
    assert laws_of(OPS["add"], f32) == ["commutative", "identity"]
    assert laws_of(OPS["sub"], i32) == ["identity", "self_inverse"]
    assert laws_of(OPS["neg"], f32) == ["involution"]
    assert {key for spec in SPECS for part in spec.parts for _, key in part.keys[1:]} == set(SIDES)


def test_the_evaluators_obey_them() -> None:
    for spec in SPECS[::9]:
        assert settle(spec.case()).mismatches == {}


def test_two_sides_that_differ_are_found_in_their_cell() -> None:
    (spec,) = specs([Query.parse("laws:add:dtype=u8")])
    case = spec.case()
    assert isinstance(case.expected, Alike)
    sides = [bytes(333)] * 6
    assert difference(case.launch, case.expected, Returned(tuple(sides))) is None
    sides[3] = bytes(100) + b"\x07" + bytes(232)
    found = {
        str(part.address): difference(case.launch, case.expected, Returned(tuple(sides)), part) for part in case.parts
    }
    assert [found is not None for found in found.values()] == [False, True, False]
    wrong = found["laws:add:dtype=u8,law=associative"]
    assert wrong is not None
    assert (wrong.output, wrong.index, wrong.got, wrong.count) == ("associative_right", 100, "7 (0x07)", 1)
