"""Rewrites that look right and are wrong: no pass makes any of them, and neither do all together."""

import pytest

from vyre_foundation.optimize import optimize
from vyre_foundation.text import parse
from vyre_foundation.validate import Facts

HEADER = """
program p workgroup(8, 1, 1) subgroup(4) {
  read f: f32[] @0;
  read a: u32[] @1;
  read n: i32[] @2;
  read_write b: u32[16] @3;
  write out: f32[16] @4;
  write bits: u32[16] @5;
  write flags: bool[16] @6;
  write signed: i32[16] @7;

  let i = local_id.x;
"""

STAYS = {
    "a product and a sum round twice": "out[local_id.x] = f[0] * f[1] + 3.0;",
    "a product and a difference round twice": "out[local_id.x] = 3.0 - f[0] * f[1];",
    "a divisor that is no power of two has no reciprocal": "out[local_id.x] = f[0] / 3.0;",
    "the reciprocal of a root rounds twice": "out[local_id.x] = 1.0 / sqrt(f[0]);",
    "a NaN does not equal itself": "flags[local_id.x] = f[0] == f[0];",
    "a NaN is not at most itself": "flags[local_id.x] = f[0] <= f[0];",
    "infinity less itself is NaN": "out[local_id.x] = f[0] - f[0];",
    "zero divided by itself is NaN": "out[local_id.x] = f[0] / f[0];",
    "zero divided by itself is zero": "bits[local_id.x] = a[0] / a[0];",
    "minus zero and zero are zero": "out[local_id.x] = f[0] + 0.0;",
    "a difference of equals is plus zero": "out[local_id.x] = neg(f[0] - f[1]);",
    "floats do not associate": "out[local_id.x] = f[0] + f[1] + f[2] + f[3];",
    "the order of a reduction is fixed": "let s = subgroup reduce_add(f[0]); out[local_id.x] = s + f[1] + f[2];",
}


def optimized(statements: str) -> Facts:
    program = parse(HEADER + statements + "\n}\n")
    return optimize(program.validate())


@pytest.mark.parametrize("statement", STAYS.values(), ids=STAYS)
def test_what_only_looks_equal_stays(statement: str) -> None:
    written = parse(HEADER.replace("let i = local_id.x;", "") + statement + "\n}\n")
    assert str(optimized(statement).program) == str(written)


def test_shifts_do_not_add_up_beyond_the_width() -> None:
    assert "bits[local_id.x] = 0;" in str(optimized("bits[i] = a[0] << 20 << 20;").program)
    assert "a[0] << 8" not in str(optimized("bits[i] = a[0] << 20 << 20;").program)


def test_a_number_is_not_taken_for_a_truth() -> None:
    text = str(optimized("bits[i] = u32(bool(a[0]));").program)
    assert "bool(a[0])" in text or "!=" in text


def test_a_product_with_minus_one_is_of_its_type() -> None:
    made = optimized("signed[i] = n[0] * -1;").program
    made.validate()
    assert "n[0]" in str(made)


def test_an_effect_in_a_condition_is_a_statement_and_stays() -> None:
    statements = "let old = atomic add(b[0], 1); bits[i] = select(old == 1, 7, 7);"
    assert "atomic add(b[0], 1);" in str(optimized(statements).program)


def test_an_atomic_that_stands_once_is_made_by_all() -> None:
    assert "atomic add(b[0], 1);" in str(optimized("atomic add(b[0], 1);").program)
