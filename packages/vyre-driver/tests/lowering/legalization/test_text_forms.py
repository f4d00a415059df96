"""Texts of dialects: taken for the language that they are in, printed once, named apart, and never in place of what
they do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.lower import legalize
from vyre_driver.errors import KernelCompileFailed
from vyre_driver.legalization.text_forms import CallForm
from vyre_driver.pipeline.key import describe_target
from vyre_foundation.build import call, program
from vyre_foundation.dialects import Composition, register, unregister
from vyre_foundation.dialects.attributes import AttrSchema, AttrType
from vyre_foundation.dialects.lowering import LoweringCtx, LoweringTable, TextModule
from vyre_foundation.dtype import DType, bf16, i32, u32
from vyre_foundation.ir import expr as ir
from vyre_foundation.ops import OPS

LANGUAGE = "test C"
asked: list[LoweringCtx] = []


def scaled(x: ir.Expr, by: ir.Expr, _: ir.Expr) -> ir.Expr:
    return ir.Apply(OPS["mul"], x, ir.Cast(x.dtype, by))


def twice(x: ir.Expr) -> ir.Expr:
    return ir.Apply(OPS["add"], x, x)


def quad(x: ir.Expr) -> ir.Expr:
    return ir.Call("forms.twice", x.dtype, ir.Call("forms.twice", x.dtype, x))


def scaled_text(ctx: LoweringCtx) -> TextModule | None:
    asked.append(ctx)
    if ctx.attrs["mode"] == "slow":
        return None
    return TextModule(f"u32 {ctx.symbol}(u32 x) {{ return x * {ctx.attrs['by']}u; }}", ctx.symbol)


def clashing(ctx: LoweringCtx) -> TextModule:
    return TextModule(f"// {ctx.result}", "same")


def plain(ctx: LoweringCtx) -> TextModule:
    return TextModule("", "add")


def broken(ctx: LoweringCtx) -> TextModule:
    raise ValueError("no idea")


def over(*types: DType) -> dict[tuple[DType, ...], DType]:
    return {(t,): t for t in types}


BY, MODE = AttrSchema("by", AttrType(u32)), AttrSchema("mode", AttrType(choices=("fast", "slow")), "fast")
ROWS = (
    Composition(
        "forms.scaled",
        {(u32, u32, u32): u32, (bf16, u32, u32): bf16},
        scaled,
        attrs=(BY, MODE),
        lowerings=LoweringTable({LANGUAGE: scaled_text}),
    ),
    Composition("forms.twice", over(u32), twice, lowerings=LoweringTable({LANGUAGE: plain})),
    Composition("forms.quad", over(u32), quad),
    Composition("forms.clash", over(u32, i32), twice, lowerings=LoweringTable({LANGUAGE: clashing})),
    Composition("forms.broken", over(u32), twice, lowerings=LoweringTable({LANGUAGE: broken})),
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(ROWS)
    asked.clear()
    yield
    unregister(row.id for row in ROWS)


@pytest.fixture
def speaking(dialects):
    """A target whose kernels are printed in the language of the texts."""
    return replace(dialects["full"], language=LANGUAGE)


def lowered_with(table, write, dtype: DType = u32):
    with program("calls", 4) as p:
        x = p.read("x", dtype)
        out = p.write("out", dtype, like=x)
        out[p.global_id(0)] = write(x[p.global_id(0)])
    built = p.build()
    return legalize(built, built.validate(), table.target())


def test_a_text_stands_in_for_the_composition(speaking) -> None:
    lowered = lowered_with(speaking, lambda x: call("forms.scaled", x, by=3) + call("forms.scaled", x + 1, by=3))
    ((form, module),) = lowered.texts.items()
    assert form == CallForm("forms.scaled", (u32,), (ir.Literal(u32, 3), ir.Literal(u32, 0)), u32)
    assert module.entry == "forms_scaled_u32_3_0"
    text = print_unit(lowered, speaking).text
    assert text.count("u32 forms_scaled_u32_3_0(u32 x) { return x * 3u; }\n") == 1
    assert text.index("{ return x * 3u; }") < text.index("calls(")
    assert "forms_scaled_u32_3_0(t0) + forms_scaled_u32_3_0((t0 + 1u));" in text


def test_attributes_choose_the_text(speaking) -> None:
    lowered = lowered_with(speaking, lambda x: call("forms.scaled", x, by=3) ^ call("forms.scaled", x, by=5))
    assert {m.entry for m in lowered.texts.values()} == {"forms_scaled_u32_3_0", "forms_scaled_u32_5_0"}


def test_builders_are_asked_once_for_each_form(speaking) -> None:
    for _ in range(2):
        lowered_with(speaking, lambda x: call("forms.scaled", x, by=7))
    assert [(c.language, c.op, c.operands, c.result, c.attrs["by"]) for c in asked] == [
        (LANGUAGE, "forms.scaled", (u32,), u32, 7)
    ]


def test_a_builder_that_gives_nothing_leaves_the_composition(speaking) -> None:
    lowered = lowered_with(speaking, lambda x: call("forms.scaled", x, by=3, mode="slow"))
    assert not lowered.texts
    assert "* 3u" in print_unit(lowered, speaking).text


def test_a_target_of_another_language_gets_the_composition(dialects) -> None:
    assert not lowered_with(dialects["full"], lambda x: call("forms.scaled", x, by=3)).texts
    assert not asked


def test_a_type_that_registers_lack_gets_the_composition(speaking) -> None:
    assert bf16 not in speaking.target().arithmetic
    assert not lowered_with(speaking, lambda x: call("forms.scaled", x, by=3), bf16).texts


def test_calls_inside_of_compositions_have_texts_too(speaking) -> None:
    lowered = lowered_with(speaking, lambda x: call("forms.quad", x))
    assert "add(add(x[global_id_x]))" in print_unit(lowered, speaking).text


def test_names_of_a_program_avoid_those_of_texts(speaking) -> None:
    with program("add", 4) as p:
        add = p.read("add", u32)
        p.write("out", u32, like=add)[p.global_id(0)] = call("forms.twice", add[p.global_id(0)])
    built = p.build()
    text = print_unit(legalize(built, built.validate(), speaking.target()), speaking).text
    assert "kernel void add_(const u32 *add1" in text
    assert "add(add1[global_id_x])" in text


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda x: call("forms.clash", x) + call("forms.clash", x.cast(i32)).cast(u32), "define 'same'"),
        (lambda x: call("forms.broken", x), "forms.broken has no source in test C: ValueError: no idea"),
    ],
)
def test_what_a_dialect_does_wrong_is_its_own(write, words, speaking) -> None:
    with pytest.raises(KernelCompileFailed) as caught:
        lowered_with(speaking, write)
    assert words in str(caught.value)
    assert "Fix: " in str(caught.value)


def test_the_language_is_part_of_what_code_is_known_by(speaking, dialects) -> None:
    assert describe_target(speaking.target()) != describe_target(dialects["full"].target())
    assert speaking.digest() != dialects["full"].digest()
