"""Dialects from TOML: expressions of the text form, for several types, refused as a whole."""

from pathlib import Path

import pytest

from vyre_foundation import dialects
from vyre_foundation.dialects import Migration, call, expand
from vyre_foundation.dialects.mutation import MutationClass
from vyre_foundation.discovery.manifest import BadManifest, parse_manifest, read_manifest
from vyre_foundation.dtype import bool_, f32, f64, u32
from vyre_foundation.ir import Apply, Literal, Local
from vyre_foundation.ops import OPS

HEAD = 'id = "geo"\nversion = "1.2"\n'
HYPOT = '[ops.hypot]\nover = ["f32", "f64"]\nparams = { x = "T", y = "T" }\nresult = "T"\nis = "sqrt(x * x + y * y)"\n'
LENGTH = """
[ops.length]
over = ["f32", "f64"]
params = { x = "T", y = "T" }
attrs.scale = { type = "u32" }
attrs.norm = { type = ["euclid", "maximum"], default = "euclid" }
result = "T"
is = { euclid = "x * y", maximum = "max(x, y)" }
"""


def test_an_op_over_several_types() -> None:
    found = parse_manifest(HEAD + 'summary = "planes"\n' + HYPOT)
    assert (found.id, found.version, found.summary, found.language) == ("geo", "1.2", "planes", 1)
    (row,) = found.ops
    assert row.id == "geo.hypot"
    assert row.signatures == {(f32, f32): f32, (f64, f64): f64}
    a, b = Local("a", f64), Local("b", f64)
    mul = OPS["mul"]
    assert row.expand(a, b) is Apply(OPS["sqrt"], Apply(OPS["add"], Apply(mul, a, a), Apply(mul, b, b)))


def test_operands_that_are_called_as_parameters_are_not_mixed_up() -> None:
    row = parse_manifest(HEAD + HYPOT).ops[0]
    x, y = Local("x", f32), Local("y", f32)
    swapped = row.expand(y, x)
    assert swapped is row.expand(Local("y", f32), Local("x", f32))
    assert swapped.args[0].args[0].args[0] is y


def test_parameters_of_different_types_and_calls_inside() -> None:
    text = HEAD + (
        '[ops.one]\nparams = { n = "u32" }\nresult = "u32"\nis = "n + 1"\n'
        '[ops.two]\nparams = { n = "u32", b = "bool" }\nresult = "u32"\nis = "select(b, call<u32> geo.one(n), n)"\n'
    )
    found = parse_manifest(text)
    dialects.register(found.ops)
    try:
        n, b = Local("n", u32), Local("b", bool_)
        assert expand(call("geo.two", n, b), {}).args[1] is Apply(OPS["add"], n, Literal(u32, 1))
    finally:
        dialects.unregister(row.id for row in found.ops)


def test_attributes_and_an_expression_for_each_choice() -> None:
    (row,) = parse_manifest(HEAD + LENGTH).ops
    assert list(map(str, row.attrs)) == ["scale: u32", "norm: euclid | maximum = euclid"]
    assert row.signatures == {(f32, f32, u32, u32): f32, (f64, f64, u32, u32): f64}
    x, y, scale = Local("x", f32), Local("y", f32), Literal(u32, 5)
    assert row.expand(x, y, scale, Literal(u32, 0)) is Apply(OPS["mul"], x, y)
    assert row.expand(x, y, scale, Literal(u32, 1)) is Apply(OPS["max"], x, y)


def test_a_numeric_attribute_is_a_constant_of_the_expression() -> None:
    text = (
        '[ops.add]\nparams = { n = "u32" }\nattrs.by = { type = "u32", default = 2 }\nresult = "u32"\nis = "n + by"\n'
    )
    (row,) = parse_manifest(HEAD + text).ops
    n = Local("n", u32)
    assert row.expand(n, row.attrs[0].operand(None)) is Apply(OPS["add"], n, Literal(u32, 2))


def test_other_contents_have_another_digest() -> None:
    first, same, other = (parse_manifest(HEAD + t).digest for t in (HYPOT, HYPOT, HYPOT.replace("x * x", "x + x")))
    assert first == same != other


def test_migrations() -> None:
    first = '[migrations.hyp]\nto = "hypot"\nsince = "1.1"\noperands = [1, 0]\n'
    text = HEAD + first + '[migrations.old]\nsince = "1.2"\nnote = "use x"\n'
    text += '[migrations.taxi]\nto = "length"\nsince = "2"\nattrs = { norm = "taxi" }\nmutation = "semantic"\n'
    assert parse_manifest(text).migrations == (
        Migration(op="geo.hyp", to="geo.hypot", since="1.1", operands=(1, 0)),
        Migration(op="geo.old", since="1.2", note="use x"),
        Migration(
            op="geo.taxi", to="geo.length", since="2", attrs=(("norm", "taxi"),), mutation=MutationClass.SEMANTIC
        ),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id = ", "it is not TOML"),
        ('version = "1"', "id: it is missing or empty"),
        ('id = "geo"', "version: it is missing or empty"),
        (HEAD + "language = 'one'", "language: got 'one', expected int"),
        (HEAD + "ops = 1", "ops: got 1, expected dict"),
        (HEAD + "[ops]\nx = 1", "ops.x: it is no table"),
        (HEAD + '[ops.x]\nresult = "u32"\n', "ops.x.is: it is missing or empty"),
        (HEAD + '[ops.x]\nresult = "u33"\nis = "1"\n', "ops.x: got the type 'u33'"),
        (HEAD + '[ops.x]\nresult = "T"\nis = "1"\n', "ops.x: got the type 'T'"),
        (HEAD + '[ops.x]\nresult = "u32"\nis = "1 +"\n', "ops.x: `is` does not parse: got `;`"),
        (HEAD + '[ops.x]\nresult = "u32"\nis = "1; return"\n', "ops.x: `is` is more than one expression"),
        (HEAD + '[ops.x]\nresult = "u32"\nis = "1; let y = 2"\n', "ops.x: `is` is more than one expression"),
        (HEAD + '[ops.x]\nresult = "f32"\nis = "1"\n', "ops.x: the expression is of u32, `result` says f32"),
        (HEAD + '[migrations.x]\nto = "y"\n', "migrations.x.since: it is missing or empty"),
        (HEAD + '[migrations.x]\nsince = "1"\nmutation = "big"\n', "migrations.x: got the mutation 'big'"),
        (HEAD + LENGTH.replace('= "euclid"', '= "taxi"'), "ops.length.attrs.norm: attribute 'norm' got 'taxi'"),
        (HEAD + LENGTH.replace("maximum =", "minimum ="), "ops.length.is: got expressions for euclid, minimum"),
        (HEAD + LENGTH.replace('["euclid", "maximum"]', "[1]"), "ops.length.attrs.norm: got the type '[1]'"),
        (HEAD + "foo = 3", "foo: no such key is known"),
        (HEAD + HYPOT + 'sumary = "s"', "ops.hypot.sumary: no such key is known. Fix: write `summary`"),
        (HEAD + HYPOT + 'atrs.k = { type = "u32" }', "ops.hypot.atrs: no such key is known. Fix: write `attrs`"),
        (HEAD + HYPOT + 'attrs.k = { typ = "u32" }', "ops.hypot.attrs.k.typ: no such key is known. Fix: write `type`"),
        (HEAD + '[migrations.x]\nsince = "1"\nop = "y"', "migrations.x.op: no such key is known"),
        (HEAD + LENGTH.replace("params", "attrs.n = 3\nparams"), "ops.length.attrs.n: it is no table"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_named(text: str, words: str) -> None:
    with pytest.raises(BadManifest) as caught:
        parse_manifest(text, "geo.toml")
    assert str(caught.value).startswith(f"geo.toml: {words}")


def test_a_manifest_for_another_language_is_not_read_for_its_keys() -> None:
    found = parse_manifest(HEAD + "language = 2\nfoo = 3\n[ops.x]\nbar = 1")
    assert (found.id, found.version, found.language) == ("geo", "1.2", 2)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "geo.toml"
    file.write_text(HEAD + HYPOT)
    assert read_manifest(file).id == "geo"
    file.write_bytes(b"\xff")
    with pytest.raises(BadManifest, match="it is not UTF-8"):
        read_manifest(file)
    file.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(BadManifest, match="expected at most 1048576"):
        read_manifest(file)
