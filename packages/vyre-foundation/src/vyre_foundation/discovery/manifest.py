"""Dialects without a line of Python: ops as expressions of the text form, in a TOML file.

    id = "geometry"
    version = "1.2"

    [ops.hypot]
    summary = "the length of (x, y)"
    over = ["f32", "f64"]
    params = { x = "T", y = "T" }
    result = "T"
    is = "sqrt(x * x + y * y)"

    [ops.length]
    over = ["f32", "f64"]
    params = { x = "T", y = "T" }
    attrs.norm = { type = ["euclidean", "maximum"], default = "euclidean" }
    result = "T"
    is = { euclidean = "sqrt(x * x + y * y)", maximum = "max(abs(x), abs(y))" }

    [migrations.hyp]
    to = "hypot"
    since = "1.2"

`over` lists the types that ``T`` stands for; without it all types are written out. Numbers without a type take that of
the operand beside them, so one expression serves all types. The op is ``geometry.hypot``. An attribute is a constant of
the expression; for the last one, if it is a choice, there may be an expression for each of its names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from blake3 import blake3

from vyre_foundation.dialects import LANGUAGE, Composition, Dialect, Expand, Migration
from vyre_foundation.dialects.attributes import AttrSchema, AttrType, BadAttribute
from vyre_foundation.dialects.mutation import MutationClass
from vyre_foundation.dtype import DTYPES, DType, u32
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.expr import Expr, Literal, Local
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ir.walk import rewrite
from vyre_foundation.text import TextError, parse
from vyre_foundation.text.syntax import name as written

MAX_BYTES = 2**20
_KEYS = {
    "manifest": ("id", "version", "language", "summary", "ops", "migrations"),
    "op": ("summary", "over", "params", "attrs", "result", "is"),
    "attr": ("type", "default"),
    "migration": ("to", "since", "note", "operands", "attrs", "mutation"),
}
"""The keys of each kind of table."""
_TYPES = {dtype.name: dtype for dtype in DTYPES}


class BadManifest(VyreError, ValueError):
    """A TOML file that is not a valid dialect; one bad op is enough. The field `dialect` is its id, if it has one."""

    code = "E108"


def read_manifest(path: Path) -> Dialect:
    """The dialect that a file describes, or `BadManifest` with the key that is wrong."""
    data = path.read_bytes()
    if len(data) > MAX_BYTES:
        raise BadManifest(f"got {len(data)} bytes, expected at most {MAX_BYTES}", fix="split it", where=str(path))
    try:
        return parse_manifest(data.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise BadManifest(f"it is not UTF-8 ({error.reason})", fix="save it as UTF-8", where=str(path)) from error


def parse_manifest(text: str, where: str = "manifest") -> Dialect:
    """As `read_manifest`, from the text of a file that is called `where`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadManifest(f"it is not TOML: {error}", fix="correct the syntax", where=where) from error
    reader = _Reader(where)
    reader.dialect = id = reader.text(table, "id")
    version, language = reader.text(table, "version"), reader.of_type(table, "language", int, LANGUAGE)
    if language != LANGUAGE:  # whose keys may be others
        return Dialect(id=id, version=version, language=language, ops=())
    reader.require_known(table, "manifest")
    return Dialect(
        id=id,
        version=version,
        summary=reader.of_type(table, "summary", str, ""),
        ops=tuple(reader.op(id, name, row) for name, row in reader.tables(table, "ops")),
        migrations=tuple(reader.migration(id, name, row) for name, row in reader.tables(table, "migrations")),
        digest=str(blake3(text.encode()).hexdigest(16)),
    )


class _Reader:
    """Takes tables apart; every complaint names the file and the key."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.dialect = ""

    def op(self, dialect: str, name: str, row: Mapping[str, Any]) -> Composition:
        key = f"ops.{name}"
        self.require_known(row, "op", key)
        params = dict(self.tables_of_text(row, "params", key))
        attrs = tuple(self.attr(n, inner, f"{key}.attrs.{n}") for n, inner in self.tables(row, "attrs", key))
        result, sources = self.text(row, "result", key), self.sources(row, attrs, key)
        types = [self.dtype(t, key) for t in self.of_type(row, "over", list, [], key)]
        bodies, signatures = {}, {}
        for chosen in types or (None,):
            operands = {p: self.dtype(t, key, chosen) for p, t in params.items()}
            operands |= {schema.name: schema.type.dtype for schema in attrs}
            signature = tuple(operands.values())
            signatures[signature] = self.dtype(result, key, chosen)
            for choice, source in sources.items():
                body = bodies[signature, choice] = self.body(source, operands, key)
                if body.dtype is not signatures[signature]:
                    message = f"the expression is of {body.dtype}, `result` says {result}"
                    raise self.bad(key, message, "correct one of them")
        return Composition(
            id=f"{dialect}.{name}",
            signatures=signatures,
            expand=_substitution((*params, *(schema.name for schema in attrs)), bodies),
            summary=self.of_type(row, "summary", str, "", key),
            attrs=attrs,
        )

    def attr(self, name: str, row: Mapping[str, Any], key: str) -> AttrSchema:
        """``{ type = "u32", default = 2 }``, or a list of names for the type."""
        self.require_known(row, "attr", key)
        stated = row.get("type")
        if isinstance(stated, list) and stated and all(isinstance(choice, str) for choice in stated):
            type = AttrType(u32, tuple(stated))
        else:
            type = AttrType(self.dtype(str(stated), key))
        schema = AttrSchema(name, type, row.get("default"))
        try:
            _ = schema.default is None or schema.operand(None)
        except BadAttribute as error:
            raise self.bad(key, error.message, error.fix) from error
        return schema

    def sources(self, row: Mapping[str, Any], attrs: tuple[AttrSchema, ...], key: str) -> dict[int | None, str]:
        """The expression (None), or one for each value of the last attribute."""
        if not isinstance(row.get("is"), dict):
            return {None: self.text(row, "is", key)}
        choices = attrs[-1].type.choices if attrs else ()
        given = dict(self.tables_of_text(row, "is", key))
        if set(given) != set(choices):
            fix = f"write one for each of {', '.join(choices) or 'the names of a choice, its last attribute'}"
            raise self.bad(f"{key}.is", f"got expressions for {', '.join(given)}", fix)
        return {number: given[choice] for number, choice in enumerate(choices)}

    def body(self, source: str, operands: Mapping[str, DType], key: str) -> Expr:
        """The expression over its operands as locals, as the parser of programs reads it."""
        names = "".join(f"let {written(p)} = {'false' if t.bits == 1 else f'0:{t}'};\n" for p, t in operands.items())
        try:
            stmts = parse(f"program p workgroup(1, 1, 1) {{\n{names}let `the result` = {source};\n}}").body
        except TextError as error:
            raise self.bad(key, f"`is` does not parse: {error.message}", error.fix) from error
        if len(stmts) != len(operands) + 1 or not isinstance(stmts[-1], Let):
            raise self.bad(key, "`is` is more than one expression", "write one expression without a semicolon")
        return stmts[-1].value

    def migration(self, dialect: str, name: str, row: Mapping[str, Any]) -> Migration:
        key = f"migrations.{name}"
        self.require_known(row, "migration", key)
        to = self.of_type(row, "to", str, "", key)
        operands = self.of_type(row, "operands", list, None, key)
        return Migration(
            op=f"{dialect}.{name}",
            to=f"{dialect}.{to}" if to and "." not in to else to,
            since=self.text(row, "since", key),
            note=self.of_type(row, "note", str, "", key),
            operands=None if operands is None else tuple(operands),
            attrs=tuple(self.of_type(row, "attrs", dict, {}, key).items()),
            mutation=self.mutation(self.of_type(row, "mutation", str, MutationClass.STRUCTURAL.value, key), key),
        )

    def mutation(self, name: str, key: str) -> MutationClass:
        try:
            return MutationClass(name)
        except ValueError as error:
            known = ", ".join(found.value for found in MutationClass)
            raise self.bad(key, f"got the mutation {name!r}", f"use one of {known}") from error

    def dtype(self, name: str, key: str, chosen: DType | None = None) -> DType:
        if name == "T" and chosen is not None:
            return chosen
        if name not in _TYPES:
            raise self.bad(key, f"got the type {name!r}", f"use one of {' '.join(_TYPES)}, or T with `over`")
        return _TYPES[name]

    def text(self, row: Mapping[str, Any], field: str, key: str = "") -> str:
        found: str = self.of_type(row, field, str, "", key)
        if not found:
            raise self.bad(f"{key}.{field}".strip("."), "it is missing or empty", "write a text")
        return found

    def tables(self, row: Mapping[str, Any], field: str, key: str = "") -> list[tuple[str, Mapping[str, Any]]]:
        rows = self.of_type(row, field, dict, {}, key)
        for name, inner in rows.items():
            if not isinstance(inner, dict):
                where = f"{key}.{field}.{name}".strip(".")
                raise self.bad(where, "it is no table", f"write [{where}]")
        return list(rows.items())

    def tables_of_text(self, row: Mapping[str, Any], field: str, key: str) -> list[tuple[str, str]]:
        return [(name, str(text)) for name, text in self.of_type(row, field, dict, {}, key).items()]

    def of_type(self, row: Mapping[str, Any], field: str, wanted: type, default: Any, key: str = "") -> Any:
        found = row.get(field, default)
        if found is not default and not isinstance(found, wanted):
            where = f"{key}.{field}".strip(".")
            raise self.bad(where, f"got {found!r}, expected {wanted.__name__}", f"write a {wanted.__name__}")
        return found

    def require_known(self, row: Mapping[str, Any], kind: str, key: str = "") -> None:
        """Refuse a key that a table of this kind does not have."""
        known = _KEYS[kind]
        for field in row:
            if field not in known:
                near = get_close_matches(field, known, 1)
                fix = f"write `{near[0]}`" if near else f"remove it; the keys here are {', '.join(known)}"
                raise self.bad(f"{key}.{field}".strip("."), "no such key is known", fix)

    def bad(self, key: str, message: str, fix: str) -> BadManifest:
        return BadManifest(f"{key}: {message}", fix=fix, where=self.where, dialect=self.dialect)


def _substitution(names: tuple[str, ...], bodies: Mapping[tuple[tuple[DType, ...], int | None], Expr]) -> Expand:
    """The expression for the types of the operands and the last attribute, with the operands in place of its locals."""

    def expand(*operands: Expr) -> Expr:
        types = tuple(operand.dtype for operand in operands)
        body = bodies.get((types, None))
        if body is None:
            last = operands[-1]
            assert isinstance(last, Literal), "attributes are literals"
            body = bodies[types, int(last.value)]
        given: dict[Expr, Expr] = {Local(n, dtype): x for n, dtype, x in zip(names, types, operands, strict=True)}
        return rewrite(body, lambda node: given.get(node, node), {})

    return expand
