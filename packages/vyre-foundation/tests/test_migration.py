"""Migrations: followed to their end, in every expression, and only where they are safe."""

from __future__ import annotations

import pytest

from vyre_foundation import dialects
from vyre_foundation.dialects import Composition, Dialect, Migration
from vyre_foundation.dialects.attributes import AttrSchema, AttrType
from vyre_foundation.dialects.mutation import MutationClass
from vyre_foundation.discovery.migration import BadMigration, check_migrations, migrate
from vyre_foundation.dtype import f32, u32
from vyre_foundation.ir.expr import Apply
from vyre_foundation.ops import OPS
from vyre_foundation.text import parse, print_program

NEW = [
    Composition("m.minus", {(u32, u32): u32}, lambda x, y: x),
    Composition("m.single", {(f32,): f32, (u32,): f32}, lambda x: x),
]
STEPS = (
    Migration(op="m.first", to="m.second", since="1.1"),
    Migration(op="m.second", to="m.minus", since="1.2", operands=(1, 0)),
    Migration(op="m.rounded", to="m.minus", since="2.0", mutation=MutationClass.SEMANTIC),
    Migration(op="m.single", since="2.1", note="use x"),
)
M = Dialect(id="m", version="2.1", ops=tuple(NEW), migrations=STEPS)


@pytest.fixture(autouse=True)
def registered():
    dialects.register(NEW)
    yield
    dialects.unregister(row.id for row in NEW)


def program(body: str):
    return parse(f"program p workgroup(4, 1, 1) {{ write out: u32[4] @0; {body} }}")


def test_a_chain_is_followed_to_its_end_wherever_it_is() -> None:
    old = program("if call<u32> m.first(1, 2) == 3 { out[call<u32> m.first(call<u32> m.first(4, 5), 6)] = 7; }")
    found = migrate(old, [M])
    shown = print_program(found.program)
    assert "if call<u32> m.minus(2, 1) == 3 {" in shown
    assert "out[call<u32> m.minus(6, call<u32> m.minus(5, 4))] = 7;" in shown
    assert [step.op for step in found.steps] == ["m.first", "m.second"]
    assert migrate(found.program, [M]).program is found.program


def test_a_program_without_old_ops_is_the_same_object() -> None:
    for text in ("out[0] = 1;", "out[0] = call<u32> m.minus(1, 2);"):
        p = program(text)
        assert migrate(p, [M]).program is p


def test_what_changes_results_is_held_back_until_it_is_asked_for() -> None:
    p = program("out[0] = call<u32> m.rounded(1, 2);")
    found = migrate(p, [M])
    assert found.program is p
    assert [step.op for step in found.held_back] == ["m.rounded"]
    assert "m.minus(1, 2)" in print_program(migrate(p, [M], changes_results=True).program)


def test_a_deprecation_changes_nothing() -> None:
    p = program("let x = call<f32> m.single(1.0);")
    found = migrate(p, [M])
    assert found.program is p
    assert [step.note for step in found.deprecated] == ["use x"]


def test_installed_dialects_are_the_default() -> None:
    p = program("out[0] = call<u32> m.first(1, 2);")
    assert migrate(p).program is p


def dialect_with(*steps: Migration) -> Dialect:
    return Dialect(id="m", version="1", ops=(), migrations=steps)


def test_a_circle_is_refused_when_it_is_found() -> None:
    steps = [Migration(op=a, to=b, since="1") for a, b in [("m.a", "m.b"), ("m.b", "m.c"), ("m.c", "m.b")]]
    with pytest.raises(BadMigration, match=r"circle: m\.a to m\.b to m\.c to m\.b\. Fix: "):
        check_migrations(dialect_with(*steps))


def test_two_answers_are_refused() -> None:
    with pytest.raises(BadMigration, match=r"'m\.a' migrates twice"):
        check_migrations(dialect_with(Migration(op="m.a", to="m.b", since="1"), Migration(op="m.a", since="2")))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Migration(op="m.old", to="m.minus", since="1", operands=(0, 2)), r"got 2 operands, .* takes \[0, 2\]"),
        (Migration(op="m.old", to="m.single", since="1", operands=(0,)), "'m.single' gives f32, 'm.old' gave u32"),
    ],
)  # fmt: skip
def test_a_step_that_does_not_fit_is_refused_and_the_program_is_as_it_was(step: Migration, words: str) -> None:
    p = program("out[0] = call<u32> m.old(1, 2);")
    with pytest.raises(BadMigration, match=words):
        migrate(p, [dialect_with(step)])
    assert "m.old" in print_program(p)


def test_a_new_attribute_is_stated_by_the_step_that_needs_it() -> None:
    bias = AttrSchema("bias", AttrType(u32))
    dialects.register([Composition("m.biased", {(u32, u32): u32}, lambda x, bias: x, attrs=(bias,))])
    steps = (
        Migration(op="m.old", to="m.newer", since="1", attrs=(("bias", 3),)),
        Migration(op="m.newer", to="m.biased", since="2"),
    )
    try:
        found = migrate(program("out[0] = call<u32> m.old(7);"), [dialect_with(*steps)])
        assert "call<u32> m.biased(7, 3)" in print_program(found.program)
    finally:
        dialects.unregister(["m.biased"])


ADD = Composition("m.add", {(u32, u32): u32}, lambda x, y: Apply(OPS["add"], x, y))
PLUS = Composition("m.plus", {(u32, u32): u32}, lambda x, y: Apply(OPS["add"], x, y))
FLIPPED = Composition("m.flipped", {(u32, u32): u32}, lambda x, y: Apply(OPS["add"], y, x))


@pytest.mark.parametrize(
    ("to", "operands", "is_one"),
    [(PLUS, None, True), (FLIPPED, None, False), (FLIPPED, (1, 0), True)],
)  # fmt: skip
def test_a_cosmetic_step_changes_names_alone(to, operands, is_one) -> None:
    step = Migration(op="m.add", to=to.id, since="1", operands=operands, mutation=MutationClass.COSMETIC)
    found = Dialect(id="m", version="1", ops=(ADD, to), migrations=(step,))
    if is_one:
        check_migrations(found)
        return
    with pytest.raises(BadMigration, match=r"'m\.add' is not 'm\.flipped' by another name\. Fix: call the migration"):
        check_migrations(found)


def test_a_migration_lowers_nothing() -> None:
    step = Migration(op="m.a", to="m.b", since="1", mutation=MutationClass.LOWERING)
    with pytest.raises(BadMigration, match=r"the migration of 'm\.a' says that it lowers"):
        check_migrations(dialect_with(step))
