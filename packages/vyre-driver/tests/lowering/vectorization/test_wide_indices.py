"""Indices as u64 where u32 arithmetic surely does not wrap, and only there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.lower import legalize
from vyre_foundation.build import program
from vyre_foundation.dtype import u32


def text(dialects, index):
    wide = replace(dialects["full"], wide_indices=True)
    with program("wide", (16, 16)) as p:
        a = p.read("a", u32, 100000)
        p.write("out", u32, 1)[0] = a[index(p)]
    built = p.build()
    return print_unit(legalize(built, built.validate(), wide.target()), wide).text


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (lambda p: p.local_id(1) * 16 + p.local_id(0), "a[((((u64)local_id_y) * 16ull) + ((u64)local_id_x))]"),
        (lambda p: p.local_id(0) + 5, "a[(((u64)local_id_x) + 5ull)]"),
        (lambda p: p.global_id(0), "a[t0]"),
        (lambda p: p.global_id(0) + 1, "a[t0]"),
        (lambda p: p.local_id(0) - 1, "a[t0]"),
    ],
)
def test_sums_and_products_of_ids(index, expected, dialects):
    assert expected in text(dialects, index)


def test_what_may_wrap_stays_u32(dialects):
    assert "const u32 t0 = global_id_x + 1u;" in text(dialects, lambda p: p.global_id(0) + 1)
    assert "const u32 t0 = local_id_x - 1u;" in text(dialects, lambda p: p.local_id(0) - 1)
    assert "const u64 t0 = (u64)global_id_x;" in text(dialects, lambda p: p.global_id(0))


def test_a_coordinate_may_have_a_form_of_its_own(dialects):
    full = dialects["full"]
    ids = {key: f"wide_{template}" for key, template in full.ids.items()}
    wide = replace(full, wide_indices=True, index_ids=ids)
    with program("wide", 8) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        with p.if_(i < a.length):
            p.write("out", u32, like=a)[i] = a[i]
    built = p.build()
    printed = print_unit(legalize(built, built.validate(), wide.target()), wide).text
    assert "out[wide_global_id(0)] = a[wide_global_id(0)];" in printed
