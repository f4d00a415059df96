"""Finding dialects: each bad one is left out with its reason, and none of them harms the others."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from vyre_foundation import dialects
from vyre_foundation.dialects import Composition, Dialect, Migration, UnknownCallee
from vyre_foundation.discovery.dialects import discover, version_order
from vyre_foundation.discovery.migration import migrate
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse
from vyre_foundation.validate import InvalidProgram, validate

MANIFEST = 'id = "{id}"\nversion = "{version}"\n[ops.{op}]\nparams = {{ n = "u32" }}\nresult = "u32"\nis = "n + 1"\n'


def row(id: str) -> Composition:
    return Composition(id, {(u32,): u32}, lambda n: n)


class Entry:
    """An entry point."""

    def __init__(self, name: str, given: object, distribution: str = "some-dialect") -> None:
        self.name, self.value, self._given = name, f"{name}_module:rows", given
        self.dist = type("Dist", (), {"name": distribution, "version": "3.1"})()

    def load(self) -> object:
        if isinstance(self._given, BaseException):
            raise self._given
        return lambda: self._given


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    def entries(*found: Entry) -> None:
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: list(found))

    entries()
    monkeypatch.delenv("VYRE_DIALECT_PATH", raising=False)
    return entries


def reasons() -> dict[str, str]:
    return {problem.id: problem.reason for problem in discover()[1]}


def test_rows_and_dialects_are_announced(install) -> None:
    install(
        Entry("a", [row("a.x")]),
        Entry("b", Dialect(id="b", version="2.0", ops=(row("b.x"), row("b.y")))),
    )
    found, problems = discover()
    assert [(d.id, d.version, len(d.ops)) for d in found.values()] == [("a", "3.1", 1), ("b", "2.0", 2)]
    assert not problems


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (ImportError("no such thing"), "'bad_module:rows' raised ImportError: no such thing"),
        (SystemExit(3), "'bad_module:rows' raised SystemExit: 3"),
        (42, "'bad_module:rows' gives no dialect and no compositions"),
        ([], "'bad_module:rows' gives no dialect and no compositions"),
        ([row("other.x")], "its op 'other.x' has another prefix"),
        ([row("bad.x"), row("bad.x")], "its op 'bad.x' is defined twice"),
        (Dialect(id="other", version="1", ops=()), "the entry point 'bad' announces the dialect 'other'"),
        (
            Dialect(id="bad", version="1", ops=(), language=2),
            "it is written for language 2, this vyre-foundation speaks 1",
        ),
        (
            Dialect(id="bad", version="1", ops=(), migrations=(Migration(op="bad.a", to="bad.a", since="1"),)),
            "migrations go in a circle: bad.a to bad.a",
        ),
    ],
)
def test_a_bad_dialect_is_left_out_and_harms_nobody(given: object, reason: str, install) -> None:
    install(Entry("bad", given), Entry("good", [row("good.x")]))
    found, (problem,) = discover()
    assert list(found) == ["good"]
    assert (problem.id, problem.reason) == ("bad", reason)
    assert problem.fix


@pytest.mark.parametrize("error", [RecursionError("maximum recursion depth exceeded"), MemoryError()])
def test_what_the_caller_has_used_up_is_no_fault_of_a_dialect(install, error: Exception) -> None:
    install(Entry("bad", error))
    with pytest.raises(type(error)):
        discover()


def test_an_older_language_says_what_to_upgrade(install) -> None:
    install(Entry("old", Dialect(id="old", version="1", ops=(), language=0), "old-dist"))
    assert discover()[1][0].fix == "pip install --upgrade old-dist"


def test_plugins_can_be_left_out(install, monkeypatch) -> None:
    install(Entry("a", [row("a.x")]), Entry("b", [row("b.x")]))
    for names in ("a", "A ", "other, a"):
        monkeypatch.setenv("VYRE_DISABLE_PLUGINS", names)
        assert list(discover()[0]) == ["b"]
    for word in ("all", "ALL", " True", "1"):
        monkeypatch.setenv("VYRE_DISABLE_PLUGINS", word)
        assert discover() == ({}, ())


def test_versions_are_numbers() -> None:
    assert version_order("0.10") > version_order("0.9")
    assert version_order("1.0") > version_order("1.0.dev1") > version_order("0.9")
    assert version_order("1.2.0") == version_order("1.2")


def test_the_highest_version_of_a_manifest_is_used(install, monkeypatch, tmp_path: Path) -> None:
    for version in ("0.9", "0.10"):
        (tmp_path / f"geo-{version}.toml").write_text(MANIFEST.format(id="geo", version=version, op="next"))
    (tmp_path / "broken.toml").write_text("id = 1")
    monkeypatch.setenv("VYRE_DIALECT_PATH", f"{tmp_path}:{tmp_path / 'missing'}")
    found, problems = discover()
    assert found["geo"].version == "0.10"
    assert {p.id for p in problems} == {"geo", "broken", "?"}
    shadowed = next(p for p in problems if p.id == "geo")
    assert shadowed.reason.startswith("version 0.9 is not used, because ")
    assert "has version 0.10" in shadowed.reason


def test_a_manifest_does_not_replace_what_a_distribution_announces(install, monkeypatch, tmp_path: Path) -> None:
    install(Entry("geo", [row("geo.next")], "some-geo"), Entry("bad", ImportError("no such thing"), "some-bad"))
    for id in ("geo", "bad"):
        (tmp_path / f"{id}.toml").write_text(MANIFEST.format(id=id, version="99", op="next"))
    monkeypatch.setenv("VYRE_DIALECT_PATH", str(tmp_path))
    found, problems = discover()
    assert {id: dialect.version for id, dialect in found.items()} == {"geo": "3.1"}
    assert [(p.id, p.reason) for p in problems if p.source.endswith(".toml")] == [
        ("bad", "the id 'bad' belongs to the distribution some-bad"),
        ("geo", "the id 'geo' belongs to the distribution some-geo"),
    ]


@pytest.mark.parametrize("is_installed", [True, False])
def test_nobody_takes_the_id_of_a_dialect_of_vyre_itself(
    is_installed: bool, install, monkeypatch, tmp_path: Path
) -> None:
    own = [Entry("math", [row("math.next")], "vyre-math")] if is_installed else []
    install(*own, Entry("math", Dialect(id="math", version="99", ops=(row("math.next"),)), "other-math"))
    (tmp_path / "math.toml").write_text(MANIFEST.format(id="math", version="99", op="next"))
    monkeypatch.setenv("VYRE_DIALECT_PATH", str(tmp_path))
    found, problems = discover()
    assert [dialect.version for dialect in found.values()] == (["3.1"] if is_installed else [])
    assert [p.source for p in problems] == [str(tmp_path / "math.toml"), "other-math"]
    assert {p.reason for p in problems} == {"the id 'math' belongs to the distribution vyre-math"}


def test_a_manifest_s_ops_can_be_called(install, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "geo.toml").write_text(MANIFEST.format(id="geo", version="1", op="next"))
    dialects.refresh()
    with pytest.raises(UnknownCallee):
        dialects.lookup("geo.next")
    monkeypatch.setenv("VYRE_DIALECT_PATH", str(tmp_path))
    dialects.refresh()
    try:
        assert dialects.lookup("geo.next").id == "geo.next"
        assert [d.id for d in dialects.installed_dialects()] == ["geo"]
        assert dialects.dialect_problems() == ()
        assert "geo.next" in [row.id for row in dialects.registered_ops()]
    finally:
        monkeypatch.undo()
        dialects.refresh()
    with pytest.raises(UnknownCallee):
        dialects.lookup("geo.next")


@pytest.fixture
def folder(install, monkeypatch, tmp_path: Path):
    """A folder with manifests, which are found when an op is looked up."""
    monkeypatch.setenv("VYRE_DIALECT_PATH", str(tmp_path))
    dialects.refresh()
    yield tmp_path
    monkeypatch.undo()
    dialects.refresh()


def calling(callee: str) -> Program:
    return parse(f"program p workgroup(1, 1, 1) {{ let x = call<u32> {callee}(1); }}")


def test_an_unknown_op_of_a_dialect_that_is_left_out_says_why(folder: Path) -> None:
    file = folder / "shapes.toml"
    file.write_text(MANIFEST.format(id="geo", version="1", op="next") + '[ops.bad]\nresult = "u33"\nis = "1"\n')
    reason = f"the dialect 'geo' of {file} is left out: ops.bad: got the type 'u33'"
    with pytest.raises(UnknownCallee) as caught:
        dialects.lookup("geo.next")
    assert caught.value.message == f"no installed dialect defines 'geo.next': {reason}"
    assert caught.value.fix.startswith("use one of bool u8")
    with pytest.raises(InvalidProgram) as refused:
        validate(calling("geo.next"))
    (finding,) = refused.value.findings
    assert (finding.code, finding.fix) == ("V062", caught.value.fix)
    assert finding.message.endswith(f"expected an op of an installed dialect: {reason}")


def test_the_distribution_of_a_dialect_of_this_project_is_named(folder: Path) -> None:
    with pytest.raises(UnknownCallee, match=r"defines 'math\.exp' .*\. Fix: pip install vyre-math$"):
        dialects.lookup("math.exp")
    with pytest.raises(UnknownCallee, match=r"Fix: install the distribution that defines it$"):
        dialects.lookup("geo.exp")


def test_an_unknown_op_that_was_renamed_says_what_it_is_now(folder: Path) -> None:
    text = MANIFEST.format(id="geo", version="2", op="next")
    (folder / "geo.toml").write_text(text + '[migrations.after]\nto = "next"\nsince = "2"\n')
    with pytest.raises(UnknownCallee, match=r"'geo\.next' since version 2 of the dialect"):
        dialects.lookup("geo.after")
    with pytest.raises(
        InvalidProgram, match=r"V062.*'geo\.next' since version 2.*Fix: call 'geo\.next'.*`migrate\(program\)`"
    ):
        validate(calling("geo.after"))
    validate(migrate(calling("geo.after")).program)


def test_ids_that_are_registered_by_hand_stay(install) -> None:
    install(Entry("a", [row("a.x")]))
    assert discover(frozenset({"a.x"}))[1][0].reason == "its op 'a.x' is defined twice"
