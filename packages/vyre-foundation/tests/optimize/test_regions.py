"""Regions vanish, whatever they hold."""

from vyre_foundation.optimize.regions import flatten_regions
from vyre_foundation.text import parse

NESTED = """
program p workgroup(1, 1, 1) {
  read a: u32[] @0;
  write out: u32[1] @1;

  let x = a[0];
  region "outer" {
    region "inner" {
      let y = x + 1;
    }
    if y == 2 {
      region "branch" {
        out[0] = y;
      }
    }
  }
}
"""
FLAT = """
program p workgroup(1, 1, 1) {
  read a: u32[] @0;
  write out: u32[1] @1;

  let x = a[0];
  let y = x + 1;
  if y == 2 {
    out[0] = y;
  }
}
"""


def test_statements_stand_where_their_region_stood() -> None:
    assert flatten_regions(parse(NESTED), parse(NESTED).validate()) == parse(FLAT)


def test_a_program_without_regions_is_kept() -> None:
    flat = parse(FLAT)
    assert flatten_regions(flat, flat.validate()) is flat
