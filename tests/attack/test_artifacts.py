"""Attacks on compiled programs: a file gives a `CompiledProgram` or a `BadArtifact`.

Only the reading is attacked: who names a compiled program has its machine code executed. So what was changed here is
never launched, and a digest keeps damage away from runtimes, which do not survive it.
"""

import json
import random
import subprocess
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from vyre_driver.codegen.lower import legalize
from vyre_driver.errors import BadArtifact
from vyre_driver.pipeline.ahead import ANY_VERSION, MAGIC, CompiledProgram
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_driver.testing.target import generous_target
from vyre_foundation.errors import VyreError
from vyre_foundation.text import parse

PROGRAM = """
program p workgroup(4) {
  read_write x: u32[] @0;
  write out: u32[4] @1;

  for i in 0..len(x) {
    if x[global_id.x] == 77 { trap(7, "odd"); }
    x[global_id.x] = x[global_id.x] + i;
    barrier grid;
  }
}
"""
VALUES = [None, True, -1, 2**70, 1.5, "", "x", [], ["x"], [1, 2, 3], {}, {"a": 1}, [["k", [1, 1, 1], [], [], 1]]]
DIGEST = 32


@pytest.fixture(scope="module")
def whole() -> bytes:
    program = parse(PROGRAM)
    lowered = legalize(program, program.validate(), generous_target())
    executable = ExecutableManifest.of(lowered, [f"entry_{n}" for n, _ in enumerate(lowered.kernels)])
    code = Artifact(executable, "the source", b'{"kernels": ["a"]}\0machine code')
    device = ("abacus", "ten fingers", "nature", "1", "Python 3")
    made = CompiledProgram(
        target="x", device=device, program=program, ulp_budget=0, codes=(("one", code), ("all", code))
    )
    assert CompiledProgram.from_bytes(made.to_bytes()) == made
    return made.to_bytes()


def signed(body: bytes) -> bytes:
    return MAGIC + blake3(body).digest() + body


def noise(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 3, 20))):
        at = draw.randrange(len(changed) + 1)
        match draw.randrange(4):
            case 0:
                del changed[at : at + draw.choice((1, 8, 100))]
            case 1:
                changed[at:at] = draw.choice((b"\0" * 8, b"\xff" * 8, b"[" * 5000, draw.randbytes(8)))
            case _ if at < len(changed):
                changed[at] = draw.choice((0, 1, 0xFF, changed[at] ^ 1 << draw.randrange(8)))
    return bytes(changed)


def split(data: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        parts.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return parts


def joined(parts: list[bytes]) -> bytes:
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def changed_document(text: bytes, draw: random.Random) -> bytes:
    document = json.loads(text)
    for _ in range(draw.choice((1, 1, 3))):
        name = draw.choice([*document, "extra"])
        value = document.get(name)
        if isinstance(value, list) and value and draw.random() < 0.5:
            at = draw.randrange(len(value))
            inner = value[at]
            if isinstance(inner, list) and inner and draw.random() < 0.7:
                inner[draw.randrange(len(inner))] = deepcopy(draw.choice(VALUES))
            else:
                value[at] = deepcopy(draw.choice(VALUES))
        elif draw.random() < 0.2:
            document.pop(name, None)
        else:
            document[name] = deepcopy(draw.choice(VALUES))
    return json.dumps(document).encode()


def changed_executable(data: bytes, draw: random.Random) -> bytes:
    text, _, host = data.partition(b"\0")
    return changed_document(text, draw) + b"\0" + host if draw.random() < 0.8 else text + b"\0" + noise(host, draw)


def attacked(whole: bytes, draw: random.Random) -> bytes:
    body = whole[len(MAGIC) + DIGEST :]
    parts = split(body)
    match draw.randrange(8):
        case 0:
            return noise(whole, draw)
        case 1:
            return draw.choice((b"", MAGIC, ANY_VERSION, b"VYRE")) + draw.randbytes(draw.randrange(300))
        case 2:
            return signed(noise(body, draw))
        case 3:
            draw.shuffle(parts)
        case 4:
            del parts[draw.randrange(len(parts))]
        case 5:
            parts[0] = changed_document(parts[0], draw)
        case 6:
            at = draw.randrange(len(parts))
            parts[at] = noise(parts[at], draw)
        case 7:
            code = split(parts[2])
            parts[2] = joined([changed_executable(code[0], draw), *code[1:]])
    return signed(joined(parts))


def test_any_file(attacks: Any, whole: bytes) -> None:
    """20,000 at scale 40."""
    accepted = 0
    for number in range(attacks.count(500)):
        try:
            made = CompiledProgram.from_bytes(attacked(whole, random.Random(f"{attacks.seed} {number}")), "x.vyrec")
            accepted += 1
            with suppress(VyreError):
                made.require_device(("abacus", "ten fingers", "nature", "2", "Python 3"))
            assert CompiledProgram.from_bytes(made.to_bytes()) == made
        except BadArtifact:
            continue
        except Exception as error:
            error.add_note(f"artifact {number} of seed {attacks.seed}")
            raise
    assert accepted > 0


READ = """
import resource, sys
from pathlib import Path
from vyre_driver.errors import BadArtifact
from vyre_driver.pipeline.ahead import CompiledProgram
try:
    CompiledProgram.from_bytes(b"")
except BadArtifact:
    pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = Path(sys.argv[1]).read_bytes()
try:
    CompiledProgram.from_bytes(data)
except BadArtifact as error:
    print(error)
took = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
assert took < 10 * len(data) + 2**24, took
"""


@pytest.mark.parametrize(
    "body",
    [
        joined([b"[" * 400_000]),
        joined([b'{"a":' * 2_000_000]),
        joined([b""] * 200_000),
        joined([b'{"device": [' + b'"",' * 500_000 + b'""]}', b""]),
        (2**63).to_bytes(8, "little") + bytes(2_000_000),
        bytes(2_000_000),
    ],
    ids=["lists", "objects", "parts", "texts", "length", "zeros"],
)
def test_memory(body: bytes, tmp_path: Path, bounded: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    (tmp_path / "x.vyrec").write_bytes(signed(body))
    done = bounded(READ, str(tmp_path / "x.vyrec"), seconds=60, megabytes=512)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Fix: " in done.stdout
