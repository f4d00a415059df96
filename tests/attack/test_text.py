"""Attacks on the text form: any text gives a program or a `TextError`, in time and memory that its length bounds."""

import random
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from vyre_foundation.errors import VyreError
from vyre_foundation.ops import OPS
from vyre_foundation.testing import DEFAULT, EVERYTHING, NARROW, STRUCTURED, generate
from vyre_foundation.text import TextError, parse, print_program
from vyre_foundation.text.syntax import RESERVED
from vyre_foundation.wire import decode, encode

GOLDENS = Path(__file__).parents[2] / "packages" / "vyre-foundation" / "tests" / "goldens"
SIGNS = [*'.. << >> == != <= >= - + * / % & | ^ ~ ! < > = ( ) { } [ ] , ; : . @ %0 %1 ` " # //'.split(), "\n", " "]
NUMBERS = [
    *"0 1 -1 64 255 256 4294967295 4294967296 18446744073709551616 0x 0xff 0x1p3 1.5".split(),
    *"1e400 1e-400 01 1_0 inf nan".split(),
    *(f"{digits * 5000}" for digits in ("9", "0")),
    f"0x{'f' * 5000}",
    f"1.{'9' * 5000}e{'9' * 30}",
    "nan(0x7fc00001):f32",
    f"nan(0x{'f' * 30}):f32",
    "nan(-1):f16",
]
WORDS = [
    *RESERVED, *OPS, "global_id", "local_id", "subgroup_id", "x", "y", "len", "ceil", "select", "unchecked", "per",
    "workgroup", "invocation", "bytes", "hex", "step", "min", "exchange", "grid", "sum", "program", "_", "ä",
    "\ud800", "\0",
    "a" * 5000, "`\\u{d800}`", "`\\u{110000}`", "`a\\q`", '"ab"', '"abc"', '"\\u{0}"', "\U0010ffff", "²",
]  # fmt: skip


def texts() -> list[str]:
    profiles = (DEFAULT, EVERYTHING, NARROW, STRUCTURED)
    made = [print_program(generate(seed, profiles[seed % 4]).program) for seed in range(12)]
    return [*made, *(file.read_text("utf-8") for file in sorted(GOLDENS.glob("*.vyre")))]


def mutated(text: str, draw: random.Random, others: list[str]) -> str:
    tokens = re.findall(r"\w+|\s+|.", text, re.DOTALL)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(tokens))
        match draw.randrange(8):
            case 0:
                del tokens[at : at + draw.choice((1, 1, 3, 20))]
            case 1:
                tokens.insert(at, draw.choice(draw.choice((SIGNS, NUMBERS, WORDS))))
            case 2:
                tokens[at] = draw.choice(draw.choice((SIGNS, NUMBERS, WORDS)))
            case 3:
                other = draw.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 4:
                tokens[at:at] = tokens[at : at + draw.randrange(30)]
            case 5:
                tokens[at] = "".join(chr(ord(c) ^ 1 << draw.randrange(7)) for c in tokens[at])
            case 6:
                tokens[at] = chr(draw.choice((draw.randrange(128), draw.randrange(0x110000))))
            case 7:
                tokens[at:] = re.findall(r"\w+|\s+|.", draw.choice(others), re.DOTALL)[at:]
        tokens = tokens or [""]
    return "".join(tokens)


def soup(draw: random.Random) -> str:
    head = draw.choice(
        ("", "program p workgroup(64) {", "program p workgroup(1) { read a: u32[]; write b: f32[4]; b[0] =")
    )
    return head + " ".join(draw.choice(draw.choice((SIGNS, NUMBERS, WORDS))) for _ in range(draw.randrange(40)))


def require_program_or_error(text: str) -> None:
    """And a program that can be printed, encoded and judged, with typed errors alone."""
    try:
        program = parse(text)
    except TextError as refused:
        error = refused
    else:
        assert parse(print_program(program)) == program
        with suppress(VyreError):
            assert decode(encode(program)) == program
            program.validate()
        return
    assert len(str(error)) < 2000
    assert error.line >= 1


@pytest.mark.parametrize("kind", ["mutated", "soup"])
def test_any_text(attacks: Any, kind: str) -> None:
    """60,000 of each at scale 100."""
    valid = texts()
    for number in range(attacks.count(600)):
        draw = random.Random(f"{attacks.seed} {kind} {number}")
        text = mutated(draw.choice(valid), draw, valid) if kind == "mutated" else soup(draw)
        try:
            require_program_or_error(text)
        except Exception as error:
            error.add_note(f"{kind} {number} of seed {attacks.seed}: {text[:3000]!r}")
            raise


def large(size: int) -> dict[str, tuple[str, int]]:
    """Texts of about `size` characters, with the bytes that each character may take: few, or those of a tree."""
    few, tree = 16, 800
    program, head = "program p workgroup(64) { ", "program p workgroup(64) { read_write out: u32[] @0; "

    def many(text: str, between: str = "") -> str:
        return between.join([text] * (size // len(text + between)))

    def numbered(text: str) -> str:
        return "".join(text.replace("#", str(n)) for n in range(size // (len(text) + 4)))

    return {
        "constant": (program + f"constant c: u8[{size // 2}] = hex " + '"' + many("ab") + '"; }', few),
        "strings": (program + "constant c: u8[9] = hex " + many('"abab"', " ") + "; }", few),
        "brackets": (head + "out[0] = " + many("(") + "1" + many(")") + "; }", tree),
        "open brackets": (head + "out[0] = " + many("("), tree),
        "signs": (head + "out[0] = " + many("~") + "out[0]; }", tree),
        "minus": (head + "out[0] = " + many("- ") + "1; }", tree),
        "indices": (head + "out[0] = " + many("out[") + "1" + many("]"), tree),
        "sum": (head + "out[0] = " + many("out[0]", "+") + "; }", tree),
        "comparisons": (head + "out[0] = " + many("1", "<") + "; }", tree),
        "statements": (head + many("out[0]=1;") + "}", tree),
        "hexadecimal": (head + "out[0] = 0x" + many("f") + "; }", few),
        "decimal": (head + "out[0] = " + many("9") + "; }", few),
        "float": (head + "out[0] = u32(1." + many("9") + "); }", few),
        "exponent": (head + "out[0] = u32(1e" + many("9") + "); }", few),
        "bits": (head + "out[0] = u32(nan(0x" + many("f") + "):f32); }", few),
        "size": ("program p workgroup(0x" + many("f") + ") { }", few),
        "sizes": ("program p workgroup(" + many("1", ",") + ") { }", tree),
        "name": ("program " + many("x") + " workgroup(64) { }", few),
        "quoted name": ("program `" + many("x") + "` workgroup(64) { }", few),
        "escapes": ("program `" + many("\\n") + "` workgroup(64) { }", tree),
        "comment": (many("#") + "\nprogram p workgroup(64) { }", few),
        "comments": (many("#\n") + "program p workgroup(64) { }", few),
        "spaces": (many(" \n") + "program p workgroup(64) { }", few),
        "open name": ("program `" + many("x"), few),
        "open string": (program + 'region "' + many("x"), few),
        "backslashes": (program + 'region "' + many("\\"), few),
        "unknown name": (head + "out[0] = " + many("x") + "; }", few),
        "else if": (head + "if true {} " + many("else if true {} ") + "}", tree),
        "regions": (head + many('region "a" {'), tree),
        "operands": (head + "out[0] = select(" + many("1", ",") + "); }", tree),
        "callee": (head + "out[0] = call<u32> " + many("a", ".") + "(); }", tree),
        "definitions": (head + numbered("%#=out[0]+#;") + "}", tree),
        "buffers": (program + numbered("read b#: u32[];") + "}", tree),
        "locals": (head + numbered("let l# = 1;") + "}", tree),
    }


BOUNDED = """
import resource, sys, time
from ast import literal_eval
from pathlib import Path
from vyre_foundation.text import TextError, parse

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

texts = literal_eval(Path(sys.argv[1]).read_text())
for name, (text, most) in sorted(texts.items(), key=lambda one: one[1][1]):
    before, started = peak(), time.perf_counter()
    try:
        parse(text)
    except TextError as error:
        assert len(str(error)) < 2000, name
    took = (peak() - before) / len(text)
    assert took <= most + 2**22 / len(text), (name, took)
    assert time.perf_counter() - started < 60e-6 * len(text) + 1, (name, time.perf_counter() - started)
"""


def test_large_texts(attacks: Any, tmp_path: Path, bounded: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Time and memory grow with the length, however it is filled; 1,000,000 characters at scale 10."""
    size = min(attacks.count(100_000), 4_000_000)
    (tmp_path / "texts").write_text(repr(large(size)), "utf-8")
    most = 512 + size * 2000 // 2**20
    done = bounded(BOUNDED, str(tmp_path / "texts"), seconds=60 + size // 1000, megabytes=most)
    assert done.returncode == 0, done.stderr[-2000:]
