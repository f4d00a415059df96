"""Parameters as constants: the program that is meant, one input less, one object for equal values."""

import pytest

from vyre_driver.errors import InvalidInput
from vyre_driver.plan.binding import BindingPlan
from vyre_driver.plan.specialize import CACHED, SpecCacheKey, SpecMap, SpecValue, specialize
from vyre_foundation.dtype import bool_, f32, i32, u8, u32
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse, print_program

TEXT = """\
program p workgroup(8, 1, 1) {
  read x: f32[] @0;
  uniform n: f32[1] @1;
  uniform wide: f32[2] @2;
  uniform turn: u32[1] @3;
  write out: f32[len(x)] @4;
  scratch room: u32[len(turn)] @5;

  room[0] = len(turn) + turn[global_id.x];
  out[global_id.x] = x[global_id.x] * n[0] + wide[1];
}
"""


@pytest.fixture
def general() -> Program:
    return parse(TEXT)


def test_loads_become_constants_and_the_buffer_goes(general: Program) -> None:
    special = specialize(general, SpecMap.of(general, {"n": 2.5, "turn": 7}))
    special.validate()
    assert (
        print_program(special)
        == """\
program p workgroup(8, 1, 1) {
  read x: f32[] @0;
  uniform wide: f32[2] @1;
  write out: f32[len(x)] @2;
  scratch room: u32[1] @3;

  room[0] = 1 + select(global_id.x == 0, 7, 0);
  out[global_id.x] = x[global_id.x] * 2.5 + wide[1];
}
"""
    )
    assert [b.name for b in BindingPlan.of(special).inputs] == ["x", "wide"]


def test_nothing_to_bake_in_is_the_same_program(general: Program) -> None:
    assert specialize(general, SpecMap({})) is general


def test_equal_values_give_one_object_and_other_values_another(general: Program) -> None:
    first = specialize(general, SpecMap.of(general, {"n": 2, "turn": 7}))
    assert specialize(parse(TEXT), SpecMap.of(general, {"turn": 7, "n": 2.0})) is first
    assert specialize(general, SpecMap.of(general, {"n": 2, "turn": 8})).fingerprint() != first.fingerprint()
    for n in range(CACHED):
        specialize(general, SpecMap.of(general, {"turn": 1000 + n}))
    again = specialize(general, SpecMap.of(general, {"n": 2, "turn": 7}))
    assert again is not first
    assert again.fingerprint() == first.fingerprint()


def test_the_key_has_a_part_for_everything(general: Program) -> None:
    values = SpecMap.of(general, {"n": 2})
    key = SpecCacheKey.of(general, values)
    assert key == SpecCacheKey.of(parse(TEXT), SpecMap({"n": SpecValue.of(f32, 2)}))
    assert key != SpecCacheKey.of(general, SpecMap.of(general, {"n": 3}))
    assert key != SpecCacheKey.of(parse(TEXT.replace("workgroup(8", "workgroup(4")), values)
    assert key != SpecCacheKey.of(parse(TEXT.replace("wide[1]", "wide[0]")), values)


def test_digests_tell_names_types_and_values_apart() -> None:
    maps = [
        SpecMap({}),
        SpecMap({"a": SpecValue.of(u32, 1)}),
        SpecMap({"a": SpecValue.of(i32, 1)}),
        SpecMap({"a": SpecValue.of(u32, 2)}),
        SpecMap({"b": SpecValue.of(u32, 1)}),
        SpecMap({"a": SpecValue.of(f32, 0.0)}),
        SpecMap({"a": SpecValue.of(f32, -0.0)}),
        SpecMap({"a": SpecValue.of(u32, 1), "b": SpecValue.of(u32, 1)}),
    ]
    assert len({m.digest() for m in maps}) == len(maps)
    ordered = {"b": SpecValue.of(u32, 1), "a": SpecValue.of(u32, 1)}
    assert SpecMap(ordered) == maps[-1]
    assert (SpecMap(ordered).digest(), hash(SpecMap(ordered))) == (maps[-1].digest(), hash(maps[-1]))


def test_values_are_exact() -> None:
    assert (SpecValue.of(bool_, True).bits, SpecValue.of(i32, -1).bits, SpecValue.of(f32, 0.1).bits) == (
        1,
        0xFFFF_FFFF,
        0x3DCC_CCCD,
    )
    assert str(SpecValue.of(u8, 255)) == "255:u8"
    with pytest.raises(VyreError, match="256 is not a value of u8"):
        SpecValue.of(u8, 256)


@pytest.mark.parametrize("name", ["x", "out", "wide", "room", "nothing"])
def test_only_uniforms_of_one_element_are_parameters(general: Program, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected a uniform buffer of one element \(n, turn\)"):
        SpecMap.of(general, {name: 1})
    with pytest.raises(InvalidInput, match="expected a uniform buffer"):
        specialize(general, SpecMap({name: SpecValue.of(u32, 1)}))


def test_values_of_another_type_are_refused(general: Program) -> None:
    with pytest.raises(InvalidInput, match=r"got 0\.5, expected a value of u32\. Fix: use a whole number"):
        SpecMap.of(general, {"turn": 0.5})
    with pytest.raises(InvalidInput, match="got a value of i32, expected a value of u32"):
        specialize(general, SpecMap({"turn": SpecValue.of(i32, 1)}))
