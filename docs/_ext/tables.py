"""Tables of the pages, made from the sources. They stand in the pages, so that these can be read without Sphinx.

`VYRE_ACCEPT=1 pytest tests/docs/test_pages.py` writes them between the comments that name them.

Types, ops and rules come from the tables of vyre-foundation. Errors are found in the sources of all packages, so that
none has to be installed; the `codes.toml` of each package adds what brings an error about and what repairs it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import elementary
import surface

from vyre.kernel_names import ROWS
from vyre_foundation.discovery.migration import WARNINGS
from vyre_foundation.dtype import DTYPES, FLOATS, INTEGERS, NUMBERS, DType, bool_
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.ops.signs import INFIX
from vyre_foundation.optimize import PASSES
from vyre_foundation.optimize.rules import DOMAINS
from vyre_foundation.optimize.rules.term import shown
from vyre_foundation.validate import limits
from vyre_foundation.validate.codes import REASONS, RULES, Rule

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
STATED = re.compile(r"^ +(?:code|number)\b.*=", re.MULTILINE)
"""A line that may state the code of an error."""
PLACE = re.compile(r"(?P<begin><!-- table: (?P<name>\w+) -->)\n.*?(?P<end><!-- end of the table -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Error:
    """A class of errors: its code, and what its docstring says."""

    code: str
    name: str
    meaning: str


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """Give the text of a page with its tables up to date."""
    return PLACE.sub(lambda place: f"{place['begin']}\n\n{tables[place['name']]}\n{place['end']}", page)


def tables() -> dict[str, str]:
    """Name → Markdown."""
    language = [op for op in OPS.values() if op.tier is Tier.LANGUAGE]
    raw = [op for op in OPS.values() if op.tier is Tier.RAW]
    return {
        "types": table(("type", "kind", "bits", "bytes", "values"), map(type_row, DTYPES)),
        "ops": table(("op", "sign", "of", "gives", "is", "so that"), map(op_row, language)),
        "raw_ops": table(("op", "sign", "of", "gives", "is", "so that"), map(op_row, raw)),
        "limits": table(("of", "at most"), limit_rows()),
        "rules": table(("code", "rule", "broken by", "repaired by"), rule_rows(RULES)),
        "warnings": table(("code", "advice", "violated by", "followed by"), rule_rows(WARNINGS)),
        "reasons": table(("code", "property", "fails for", "holds for"), rule_rows(REASONS)),
        "passes": table(("pass", "does"), pass_rows()),
        "rewrites": table(("domain", "this", "becomes", "where", "for"), rewrite_rows()),
        "environment": table(("variable", "values", "effect", "default"), environment_rows()),
        "elementary": table(elementary.HEAD, elementary.elementary_rows()),
        "kernel_names": table(("name elsewhere", "in vyre"), kernel_name_rows()),
        "surface": table(surface.HEAD, surface.surface_rows()),
        "port": table(surface.CONTRACT_HEAD, surface.contract_rows("DevicePort", "vyre_driver.engine.port")),
        "contract": table(surface.CONTRACT_HEAD, surface.contract_rows("VyreBackend", "vyre_driver.backend.contract")),
        "pipeline_contract": table(
            surface.CONTRACT_HEAD, surface.contract_rows("CompiledPipeline", "vyre_driver.backend.pipeline")
        ),
        "errors": table(("code", "error", "meaning", "example", "remedy"), error_rows()),
    }


def kernel_name_rows() -> Iterator[tuple[str, ...]]:
    for remedy, names in ROWS.items():
        code = re.sub(r"(?<=write )(.*?)(?=$| in a kernel)", r"`\1`", remedy).removeprefix("write ")
        yield ", ".join(f"`{name}`" for name in names.split()), code.replace("vyre.", "vy.")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


# ── types and ops ────────────────────────────────────────────────────────────────────────────────────────────────────


def type_row(dtype: DType) -> tuple[str, ...]:
    if dtype.format is None:
        values = "false, true" if dtype.name == "bool" else f"{dtype.lowest} … {dtype.highest}"
    else:
        precision, emin, emax = dtype.format
        values = f"{precision} bits of precision, exponents {emin} … {emax}; NaN is {dtype.nan_bits:0{dtype.size * 2}X}"
    return f"`{dtype}`", dtype.kind.value, str(dtype.bits), str(dtype.size), values


_GROUPS = {
    DTYPES: "all types",
    NUMBERS: "numbers",
    INTEGERS: "integers",
    FLOATS: "floats",
    (bool_, *INTEGERS): "bool, integers",
}


def op_row(op: Op) -> tuple[str, ...]:
    sign = f"`{INFIX[op.id][0]}`" if op.id in INFIX else ""
    operands = _GROUPS.get(op.accepts) or " ".join(t.name for t in op.accepts)
    gives = {"same": "the same", "bool": "bool", "unsigned": "unsigned"}[op.result.value]
    shown = "; ".join(
        f"`{op.id}({', '.join(map(number, w.operands))})` = `{number(w.result)}` in {w.dtype}" for w in op.witnesses[:2]
    )
    return f"`{op.id}`", sign, operands, gives, op.summary, shown


def number(value: bool | int | float) -> str:
    return str(value).lower() if isinstance(value, bool) or value != value else str(value)


def limit_rows() -> Iterator[tuple[str, str]]:
    x, y, z = limits.MAX_WORKGROUP_SIZE
    yield "invocations of a workgroup", f"{limits.MAX_WORKGROUP_VOLUME}; on the axes {x}, {y}, {z}"
    yield "invocations of a launch", f"{limits.MAX_AXIS_INVOCATIONS}, which is 2**32"
    yield "lanes of a subgroup", str(limits.MAX_SUBGROUP_SIZE)
    yield "buffers with a binding", str(limits.MAX_BOUND_BUFFERS)
    for memory in (Memory.WORKGROUP, Memory.PRIVATE, Memory.CONSTANT):
        yield f"bytes of {memory.value} memory in all", str(limits.MAX_BYTES[memory])
    yield "bytes of one uniform buffer", str(limits.MAX_BYTES[Memory.UNIFORM])
    yield "statements around a statement", str(limits.MAX_NESTING)
    yield "elements of a buffer", "2**32 - 1"


# ── the optimizer ────────────────────────────────────────────────────────────────────────────────────────────────────


def pass_rows() -> Iterator[tuple[str, ...]]:
    for stage in PASSES:
        yield f"`{stage.name}`", f"{stage.doc}."


def rewrite_rows() -> Iterator[tuple[str, ...]]:
    for domain, rules in DOMAINS.items():
        for rule in rules:
            where = ", ".join(f"`{condition}`" for condition in rule.where)
            yield domain, f"`{shown(rule.left)}`", f"`{shown(rule.right)}`", where, rule.types.text


# ── rules and errors ─────────────────────────────────────────────────────────────────────────────────────────────────


def rule_rows(rules: Mapping[str, Rule]) -> Iterator[tuple[str, ...]]:
    for code, rule in rules.items():
        yield code, rule.rule, rule.example, rule.repair


def error_rows() -> Iterator[tuple[str, ...]]:
    known = error_texts(ROOT)
    errors = sorted(find_errors(ROOT), key=lambda error: int(error.code[1:]))
    codes = [error.code for error in errors]
    if len(set(codes)) != len(codes) or set(codes) != set(known):
        wrong = sorted({c for c in codes if codes.count(c) > 1} | (set(codes) ^ set(known)))
        raise ValueError(f"codes.toml and the sources disagree, or a code is there twice: {wrong}")
    for error in errors:
        row = known[error.code]
        yield error.code, f"`{error.name}`", error.meaning, row["when"], row["repair"]


def environment_rows() -> Iterator[tuple[str, ...]]:
    known = tomllib.loads((DOCS / "environment.toml").read_text("utf-8"))
    read = find_variables(ROOT)
    if set(known) != read:
        raise ValueError(f"environment.toml and the sources disagree: {sorted(set(known) ^ read)}")
    for name in sorted(known):
        yield f"`{name}`", *known[name]


def find_variables(root: Path) -> set[str]:
    """The names of variables in texts of the sources that are nothing else."""
    found = set()
    for file in sorted(root.glob("packages/*/src/**/*.py")):
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "VYRE_" in text else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"\AVYRE_[A-Z_]+\Z", node.value))
    return found


def error_texts(root: Path) -> dict[str, dict[str, str]]:
    """Code → row of the `codes.toml` files of all packages, for errors."""
    files = sorted(root.glob("packages/*/src/*/codes.toml"))
    rows = {code: row for file in files for code, row in tomllib.loads(file.read_text("utf-8")).items()}
    return {code: row for code, row in rows.items() if code.startswith("E")}


@cache
def find_errors(root: Path) -> tuple[Error, ...]:
    """The classes of all packages that state a `code` or a `number` of an error."""
    found = []
    for file in sorted(root.glob("packages/*/src/**/*.py")):
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if STATED.search(text) else ():
            if isinstance(node, ast.ClassDef) and (code := stated_code(node)) is not None:
                first = (ast.get_docstring(node) or "").split("\n\n")[0]
                found.append(Error(code, node.name, " ".join(first.split())))
    return tuple(found)


def stated_code(node: ast.ClassDef) -> str | None:
    for stmt in node.body:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) | ast.AnnAssign(
                ast.Name(id=name), ast.Subscript(ast.Name(id="ClassVar")), ast.Constant(value=value)
            ):
                if name == "code" and isinstance(value, str):
                    return value
                if name == "number" and isinstance(value, int):
                    return f"E{value}"
    return None
