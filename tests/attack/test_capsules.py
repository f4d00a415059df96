"""Attacks on replay capsules: a file gives a capsule or a `BadCapsule`, in memory that the file's size bounds."""

import io
import json
import random
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import BadCapsule
from vyre_driver.observe.capsule import Capsule, read_capsule, write_capsule
from vyre_driver.observe.replay import replay
from vyre_foundation.errors import VyreError
from vyre_foundation.text import parse
from vyre_reference import ReferenceBackend

PROGRAM = """
program p workgroup(4) {
  read a: u32[] @0;
  write out: u32[len(a)] @1;
  read_write rest: u32[4] @2;

  out[global_id.x] = a[global_id.x] * 2;
  rest[global_id.x] = a[global_id.x];
}
"""
VALUES = [None, True, 0, -1, 2**70, 1.5, "", "x" * 1000, [], [1, 2, 3], {}, {"a": 1}, [[[[1]]]], "reference", "force"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    capsule = Capsule(
        program=parse(PROGRAM),
        inputs={"a": bytes(16), "rest": bytes(16)},
        config=DispatchConfig(grid_override=(1, 1, 1), ulp_budget=1, label="x"),
        backend="mine",
        backend_version="1.0",
        reference="reference",
        difference="out[3]: got 7, expected 6",
        outputs={"out": bytes(16), "rest": bytes(16)},
        reference_outputs={"out": b"\1" * 16, "rest": bytes(16)},
    )
    return write_capsule(tmp_path_factory.mktemp("capsule"), capsule).read_bytes()


def signed(data: bytes) -> bytes:
    """With the digest that belongs to what stands before it."""
    return data[:-64] + blake3(data[:-64]).hexdigest().encode()


def archived(members: list[tuple[str, bytes]], draw: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members:
            compression = draw.choice((zipfile.ZIP_STORED,) * 20 + (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
            archive.writestr(zipfile.ZipInfo(name), data, compression)
        archive.comment = b"blake3:" + bytes(64)
    return signed(file.getvalue())


def noise(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 3, 20))):
        at = draw.randrange(len(changed) + 1)
        match draw.randrange(4):
            case 0:
                del changed[at : at + draw.choice((1, 4, 100))]
            case 1:
                changed[at:at] = draw.randbytes(draw.choice((1, 4, 100)))
            case _ if at < len(changed):
                changed[at] = draw.choice((0, 1, 0xFF, changed[at] ^ 1 << draw.randrange(8)))
    return bytes(changed)


def changed_document(text: bytes, draw: random.Random) -> bytes:
    """Other values and names, anywhere in it."""
    document = json.loads(text)
    for _ in range(draw.choice((1, 1, 3))):
        inside = draw.choice((document, document, document.get("config")))
        if not isinstance(inside, dict):
            continue
        name = draw.choice([*inside, "extra", "timeout", "profile", "max_output_bytes", "cooperative", "speculation"])
        if draw.random() < 0.2:
            inside.pop(name, None)
        else:
            inside[name] = deepcopy(draw.choice(VALUES))
    return json.dumps(document).encode()


def changed_members(data: bytes, draw: random.Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = draw.randrange(len(members))
    name, content = members[at]
    match draw.randrange(6):
        case 0:
            del members[at]
        case 1:
            members.append((draw.choice((name, "x", "inputs/02", "../x", "a" * 60_000)), content))
        case 2:
            members[at] = name, noise(content or b"x", draw)
        case 3:
            members[at] = draw.choice(("inputs/01", "outputs/07", "CAPSULE.JSON")), content
        case _:
            members = [(n, changed_document(c, draw) if n == "capsule.json" else c) for n, c in members]
    return archived(members, draw)


def attacked(whole: bytes, draw: random.Random) -> bytes:
    match draw.randrange(8):
        case 0:
            return noise(whole, draw)
        case 1:
            return draw.randbytes(draw.randrange(300))
        case 2 | 3:  # the archive's own fields
            return signed(noise(whole[:-71], draw) + whole[-71:])
        case _:
            return changed_members(whole, draw)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_any_file(attacks: Any, tmp_path: Path, whole: bytes) -> None:
    """20,000 at scale 40. Those that are capsules are replayed: that gives a verdict or a typed error, too."""
    path, backend = tmp_path / "x.zip", ReferenceBackend()
    accepted = 0
    for number in range(attacks.count(500)):
        path.write_bytes(attacked(whole, random.Random(f"{attacks.seed} {number}")))
        try:
            capsule = read_capsule(path)
        except BadCapsule:
            continue
        except Exception as error:
            error.add_note(f"capsule {number} of seed {attacks.seed}")
            raise
        accepted += 1
        if capsule.config.fixpoint_iterations == 1 and accepted <= 50:
            with suppress(VyreError):
                replay(capsule, backend, backend)
    assert accepted > 0


READ = """
import resource, sys
from pathlib import Path
from vyre_driver.errors import BadCapsule
from vyre_driver.observe.capsule import read_capsule
try:
    read_capsule(Path("/dev/null"))
except BadCapsule:
    pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
path = Path(sys.argv[1])
try:
    read_capsule(path)
except BadCapsule as error:
    print(error)
took = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
assert took < 4 * path.stat().st_size + 2**24, took
"""


def deflated(whole: bytes) -> bytes:
    """128 MiB of zeros in 128 KiB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("inputs/00", "w") as member:
            for _ in range(32):
                member.write(bytes(2**22))
        archive.comment = b"blake3:" + bytes(64)
    return signed(file.getvalue())


def overlapping(whole: bytes) -> bytes:
    """A thousand entries for the same megabyte."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("inputs/0000", bytes(2**20))
        (first,) = archive.filelist
        for number in range(1, 1000):
            again = zipfile.ZipInfo(f"inputs/{number:04}")
            again.file_size, again.compress_size, again.CRC = first.file_size, first.compress_size, first.CRC
            again.header_offset = first.header_offset
            archive.filelist.append(again)
        archive.comment = b"blake3:" + bytes(64)
    return signed(file.getvalue())


def brackets(whole: bytes) -> bytes:
    return archived([("capsule.json", b"[" * 4_000_000)], random.Random(0))


def members(whole: bytes) -> bytes:
    """Names alone."""
    return archived([(f"inputs/{number:05}", b"") for number in range(2000)], random.Random(0))


@pytest.mark.parametrize("make", [deflated, overlapping, brackets, members])
def test_small_files_take_little_memory(
    whole: bytes,
    make: Callable[[bytes], bytes],
    tmp_path: Path,
    bounded: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    (tmp_path / "x.zip").write_bytes(make(whole))
    done = bounded(READ, str(tmp_path / "x.zip"), seconds=60, megabytes=512)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Fix: " in done.stdout
