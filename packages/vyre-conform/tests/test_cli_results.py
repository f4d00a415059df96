"""Commands over runs that have ended."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from vyre_conform.cli import conform

pytestmark = pytest.mark.usefixtures("backends", "forked")
CASES = ("--cases", "ops:rem:dtype=u8,values=random", "--cases", "traps:one")


def call(*words: str) -> Result:
    return CliRunner().invoke(conform, words)


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory, backends: None, forked: None) -> tuple[str, str]:
    """Two runs of the same cases: one right, one with a failure."""
    folder = tmp_path_factory.mktemp("journals")
    paths = folder / "right.jsonl", folder / "wrong.jsonl"
    for path, backend in zip(paths, ("RIGHT", "FRAGILE"), strict=True):
        call("run", "--backend", f"backends:{backend}", *CASES, "--journal", str(path))
    return str(paths[0]), str(paths[1])


def test_a_journal_is_not_replaced_without_a_word(journals: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(Path(journals[0]).read_bytes())
    words = ("run", "--backend", "backends:RIGHT", "--cases", "traps:*", "--journal", str(path))
    refused = call(*words)
    assert refused.exit_code == 2
    assert "has the cells of a run. Fix: pass --resume" in " ".join(refused.output.split())
    assert path.read_bytes() == Path(journals[0]).read_bytes()
    assert call(*words, "--overwrite").exit_code == 0
    assert path.read_bytes() != Path(journals[0]).read_bytes()
    assert call(*words, "--overwrite", "--resume").exit_code == 0


def test_a_run_is_shown_again_and_written_in_every_form(journals: tuple[str, str], tmp_path: Path) -> None:
    files = {name: tmp_path / "out" / f"run.{name}" for name in ("json", "junit", "html")}
    result = call("report", journals[1], *(word for name, path in files.items() for word in (f"--{name}", str(path))))
    assert result.exit_code == 1, result.output
    assert "✗ fail ops:rem:dtype=u8" in result.output
    assert json.loads(files["json"].read_text("utf-8"))["exit"] == 1
    assert "<failure" in files["junit"].read_text("utf-8")
    assert files["html"].read_text("utf-8").startswith("<!doctype html>")


def test_a_report_says_what_was_executed(journals: tuple[str, str]) -> None:
    result = call("report", journals[0])
    assert result.exit_code == 0, result.output
    assert re.search(r"executed by the textbook evaluator: statements \d+/11, ops \d+/360, casts ", result.output)
    assert "not executed" not in result.output
    assert (
        "barriers: 0 of 2, 0 executions; not executed: grid, workgroup"
        in call("report", journals[0], "--executed").output
    )


def test_a_run_that_was_interrupted_is_status_5(journals: tuple[str, str], tmp_path: Path) -> None:
    lines = Path(journals[0]).read_text("utf-8").splitlines(keepends=True)
    half = tmp_path / "half.jsonl"
    half.write_text("".join(lines[:3]), "utf-8")
    result = call("report", str(half))
    assert result.exit_code == 5
    assert "not complete: go on with --resume" in result.output


def test_a_difference_for_the_worse_is_status_1(journals: tuple[str, str]) -> None:
    same = call("diff", journals[0], journals[0])
    assert (same.exit_code, same.output) == (0, "0 cells differ\n")
    other = call("diff", *journals)
    assert other.exit_code == 1
    assert "worse ops:rem:dtype=u8" in other.output
    pairs = json.loads(call("diff", *journals, "--json").output)
    assert {None} < {pair[0] and pair[0]["state"] for pair in pairs}


def test_a_failed_run_is_not_certified(journals: tuple[str, str], tmp_path: Path) -> None:
    target = tmp_path / "certificate.json"
    result = call("certify", journals[1], "--certificate", str(target))
    assert result.exit_code == 2
    assert "cells failed" in result.output
    assert not target.exists()


def test_shards_are_merged(tmp_path: Path) -> None:
    parts = [str(tmp_path / f"{n}.jsonl") for n in (1, 2)]
    for n, part in enumerate(parts, 1):
        call("run", "--backend", "backends:RIGHT", "--cases", "traps:*", "--shard", f"{n}/2", "--journal", part)
    result = call("merge", *parts, "--journal", str(tmp_path / "whole.jsonl"))
    assert result.exit_code == 0, result.output
    assert "17 cells" in result.output


@pytest.mark.parametrize("words", [("--resume",), ("--shard", "3/2"), ("--shard", "one")])
def test_options_that_mean_nothing_are_status_2(words: tuple[str, ...]) -> None:
    result = call("run", "--backend", "backends:RIGHT", "--cases", "traps:one", *words)
    assert result.exit_code == 2
    assert "Fix:" in result.output


def test_a_certificate_is_verified_by_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        import_module("vyre_conform.proving"), "git_facts", lambda: {"commit": "c0ffee", "dirty": "false"}
    )
    monkeypatch.setattr(import_module("vyre_conform.bench"), "checkout", lambda packages: {})
    target = tmp_path / "certificate.json"
    journal = tmp_path / "run.jsonl"
    words = ("--cases", "traps:*", "--certificate", str(target), "--journal", str(journal))
    result = call("run", "--backend", "backends:RIGHT", *words)
    assert result.exit_code == 0, result.output
    verified = call("verify", str(target), "--sample", "2", "--on", "backends:RIGHT")
    assert verified.exit_code == 0, verified.output
    assert verified.output.endswith("it holds\n")
    assert re.search(r"the same sample again: --sample 2 --sample-seed \d+\n", verified.output)
    assert "as the signer claims: run, command, host" in verified.output
    by_name = call("verify", str(target))
    assert by_name.exit_code == 1
    assert "name it: --on backends:RIGHT" in by_name.output
    facts = json.loads(call("verify", str(target), "--on", "reference", "--json").output)
    assert (facts["holds"], facts["backends"][0]["on"], facts["backends"][0]["differing"]) == (True, "reference", [])
    signed, trust = tmp_path / "signed.json", tmp_path / "trust.txt"
    pytest.importorskip("cryptography")
    made = call("certify", str(journal), "--certificate", str(signed), "--sign", str(pem_key(tmp_path)))
    assert made.exit_code == 0, made.output
    (line,) = re.findall(r"^signed; the line of a file for verify --trust: ([0-9a-f]{64}  NAME)$", made.output, re.M)
    trust.write_text(f"# keys\n{line}\n", "utf-8")
    by_key = call("verify", str(signed), "--sample", "1", "--on", "reference", "--trust", str(trust))
    assert by_key.exit_code == 0, by_key.output
    assert "signed by NAME" in by_key.output


def pem_key(folder: Path) -> Path:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    file = folder / "key.pem"
    file.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return file
