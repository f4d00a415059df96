"""The bytes of version 1, for good. A change of these files is a change of the format, or of what a program is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vyre_foundation import decode, encode, fingerprint, parse
from vyre_foundation.dtype import DTYPES
from vyre_foundation.ops import OPS
from vyre_foundation.wire import format as f

GOLDENS = Path(__file__).parents[1] / "goldens"
NAMES = sorted(file.stem for file in GOLDENS.glob("*.vyre"))


def dump(data: bytes, identity: str) -> str:
    lines = [data[at : at + 32].hex() for at in range(0, len(data), 32)]
    return "\n".join([f"fingerprint {identity}", *lines, ""])


@pytest.mark.parametrize("name", NAMES)
def test_bytes_and_fingerprint(name: str, golden: Callable[[str, str], None]) -> None:
    program = parse((GOLDENS / f"{name}.vyre").read_text("utf-8"))
    golden(f"{name}.hex", dump(encode(program), fingerprint(program)))


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_bytes_are_read(name: str) -> None:
    identity, *lines = (GOLDENS / f"{name}.hex").read_text("utf-8").split("\n")
    program = decode(bytes.fromhex("".join(lines)))
    assert program == parse((GOLDENS / f"{name}.vyre").read_text("utf-8"))
    assert identity == f"fingerprint {program.fingerprint()}"


def test_the_goldens_use_every_kind_of_expression_and_statement() -> None:
    texts = "".join(file.read_text("utf-8") for file in GOLDENS.glob("*.vyre"))
    signs = {
        "mul",
        "div",
        "rem",
        "add",
        "sub",
        "shl",
        "shr",
        "and",
        "xor",
        "or",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "not",
    }
    assert [id for id in OPS if f"{id}(" not in texts and id not in signs] == []


def test_tags(golden: Callable[[str, str], None]) -> None:
    """Tags are given once: new rows may come, none may change."""
    tokens = "REUSE LITERAL LOCAL LOAD LOAD_UNCHECKED LENGTH SELECT CAST CAST_UNCHECKED BITCAST CALL".split()
    statements = """END LET VAR ASSIGN STORE STORE_UNCHECKED IF ELSE FOR BREAK CONTINUE RETURN BARRIER_WORKGROUP
        BARRIER_GRID TRAP INDIRECT_DISPATCH REGION ATOMIC SUBGROUP""".split()
    counts = "FIXED RUNTIME_LENGTH LENGTH_OF PER_WORKGROUP PER_INVOCATION".split()
    tables = {
        "dtype": {dtype.name: dtype.tag for dtype in DTYPES},
        "op": {op.id: op.tag for op in OPS.values()},
        "token": {name: getattr(f, name) for name in tokens}
        | {f"{kind.value}.{'xyz'[axis]}": tag for (kind, axis), tag in f.IDS.items()},
        "statement": {name: getattr(f, name) for name in statements},
        "buffer": {f"{memory.value} {access.value}": tag for (memory, access), tag in f.BUFFERS.items()},
        "count": {name: getattr(f, name) for name in counts},
        "atomic": {op.value: tag for op, tag in f.ATOMIC_OPS.items()},
        "collective": {op.value: tag for op, tag in f.SUBGROUP_OPS.items()},
    }
    for table in tables.values():
        assert len(set(table.values())) == len(table)
    golden(
        "tags.txt", "".join(f"{kind} {name} {tag}\n" for kind, table in tables.items() for name, tag in table.items())
    )


def test_a_difference_fails(
    golden: Callable[[str, str], None],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("VYRE_ACCEPT", raising=False)
    if request.config.getoption("--accept-goldens", default=False):
        pytest.skip("goldens are being accepted")
    file = tmp_path / "old.txt"
    file.write_text("one\ntwo\n")
    golden(str(file), "one\ntwo\n")
    with pytest.raises(AssertionError, match=r"old\.txt differs\. .*test_goldens\.py` accepts it\n(.|\n)*-two\n\+2"):
        golden(str(file), "one\n2\n")
    with pytest.raises(AssertionError, match="missing"):
        golden(str(tmp_path / "missing.txt"), "one\n")
