"""Which spelling is taken, and the text that measures them: one function each, one kernel that picks."""

import re
from dataclasses import replace

import pytest

from vyre_driver.codegen.dialect import CDialect
from vyre_driver.codegen.operators import c_casts, c_operators
from vyre_driver.tune.candidate import Variant
from vyre_driver.tune.spelling import CHAIN, KERNEL, MARGIN, fastest, timing_unit
from vyre_foundation.dtype import bool_, f32, u32, u64
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ir.stmt import Scope

OWN, OTHER, COMPOSED = Variant("rotl", u32, "own"), Variant("rotl", u32, "other"), Variant("rotl", u32, None)


def test_the_fastest_is_taken() -> None:
    assert fastest({OWN: 10.0, OTHER: 5.0, COMPOSED: 7.0}) == {("rotl", u32): OTHER}
    assert fastest({OWN: 10.0, OTHER: 50.0, COMPOSED: 7.0}) == {("rotl", u32): COMPOSED}


def test_noise_does_not_decide() -> None:
    assert fastest({OWN: 10.0, OTHER: 10.0 * MARGIN, COMPOSED: 9.9}) == {("rotl", u32): OWN}
    assert fastest({OWN: 10.0, OTHER: 10.0 * MARGIN - 0.01}) == {("rotl", u32): OTHER}


def test_rows_are_chosen_apart() -> None:
    wide = replace(OWN, operand=u64)
    assert fastest({OWN: 3.0, OTHER: 1.0, wide: 1.0}) == {("rotl", u32): OTHER, ("rotl", u64): wide}
    assert fastest({}) == {}


@pytest.fixture
def dialect() -> CDialect:
    """The operators of C for a few types, and words that no target has."""
    types = {bool_: "bool", u32: "unsigned", u64: "unsigned long", f32: "float"}
    names = {t: name for t, name in types.items() if t is not f32}
    return CDialect(
        name="plain",
        types=types,
        literals={bool_: "{0}", u32: "{0}u", u64: "{0}ul", f32: "{0}f"},
        kernel="kernel_of({x}) void {name}({parameters})",
        parameters={(memory, access): "{type} *{name}" for memory in Memory for access in Access},
        length_parameter="const unsigned {name}",
        workgroup="shared {type} {name}[{count}];",
        constant="table {type} {name}[{count}] = {{{values}}};",
        ids={(kind, axis): f"id_{kind.value}_{axis}()" for kind in IdKind for axis in range(3)},
        ops=c_operators((bool_, u32, u64, f32)),
        casts=c_casts(names),
        bitcasts={(u32, f32): "as_float({0})", (f32, u32): "as_uint({0})"},
        barriers={Scope.WORKGROUP: "barrier();"},
    )


def test_every_variant_is_a_function_of_one_kernel(dialect: CDialect) -> None:
    variants = [Variant("rotl", u32, "spin({0}, {1})"), Variant("rotl", u32, None), Variant("floor", f32, "down({0})")]
    unit = timing_unit(dialect, variants)
    assert unit.variants == tuple(variants)
    assert unit.types == (u32, f32)
    assert unit.text.count("static void") == 3
    assert unit.text.count(f"void {KERNEL}(") == 1
    assert re.findall(r"case \d: \w+\(a_\w+, b_\w+, out_\w+\); break;", unit.text) == [
        "case 0: variant_0(a_u32, b_u32, out_u32); break;",
        "case 1: variant_1(a_u32, b_u32, out_u32); break;",
        "case 2: variant_2(a_f32, b_f32, out_f32); break;",
    ]
    spelled, composed, down, _ = re.split(r"(?=static void|kernel_of)", unit.text)[1:]
    assert spelled.count("spin(") == CHAIN
    assert "spin(" not in composed
    assert composed.count("<<") == CHAIN
    assert down.count("down(") == CHAIN


def test_what_cannot_be_composed_is_left_out(dialect: CDialect) -> None:
    """Nothing is left of floats without their addition."""
    unit = timing_unit(dialect, [Variant("add", f32, None), Variant("add", f32, "plus({0}, {1})")])
    assert unit.variants == (Variant("add", f32, "plus({0}, {1})"),)


def test_the_text_is_the_same_in_every_process(dialect: CDialect) -> None:
    assert timing_unit(dialect, [OWN, COMPOSED]) == timing_unit(replace(dialect), [OWN, COMPOSED])
