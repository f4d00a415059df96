"""What is certified can be judged again; what proves nothing is not certified."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from vyre_conform import Cell, Query, Run, State, Suite, prove
from vyre_conform.address import address
from vyre_conform.case import AsEvaluated
from vyre_conform.cell import OracleMismatch
from vyre_conform.certificate import (
    BadCertificate,
    Certificate,
    NotCertifiable,
    certify,
    read_certificate,
    read_trust,
    sign,
    signers,
    verify,
    write_certificate,
)
from vyre_conform.certificate.signature import BadKey
from vyre_conform.gaps import Gap
from vyre_conform.host import checkout, own_packages, package_digest, roots
from vyre_conform.oracle import Verdict
from vyre_conform.report import Kill, Report

pytestmark = pytest.mark.usefixtures("backends", "forked")

ENGINE = "vyre_conform.controls.mutants:engine-generous"
SUITE = Suite(queries=(Query.parse("traps:*"), Query.parse("ops:rem:dtype=u8"), Query.parse("ops:add:dtype=u8")))


@pytest.fixture(scope="module")
def run(backends: None, forked: None) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("VYRE_SHADOW", "VYRE_OBSERVE", "VYRE_TEST_BACKEND", "VYRE_ACCEPT"):
            patch.delenv(name, raising=False)
        return clean(prove(["backends:RIGHT"], SUITE))


def clean(run: Run) -> Run:
    """As if it had run from committed sources, with everything that is installed."""
    sources = {"commit": "c0ffee", "dirty": "false"}
    host = {name: value for name, value in run.host.items() if name != "VYRE_DISABLE_PLUGINS"}
    return replace(
        run, host=host, sources=sources, backends=[replace(hello, sources=sources) for hello in run.backends]
    )


@pytest.fixture(scope="module")
def certificate(run: Run) -> Certificate:
    return certify(Report(run, [Kill("f", "host", "it lies", "traps:one")]), ["run"])


def test_a_certificate_says_what_was_judged_and_where(run: Run, certificate: Certificate) -> None:
    body = certificate.body
    assert len(body["cells"]["backends:RIGHT"]) == len(run.cells) > 10
    assert body["run"] == run.digest
    assert body["counts"] == {"backends:RIGHT pass-exact": len(run.cells)}
    assert body["kills"] == {"f": "traps:one"}
    assert {"vyre-conform", "vyre-driver", "numpy"} <= set(body["distributions"])
    assert body["sources"] == {"commit": "c0ffee", "dirty": "false"}


def test_a_file_is_read_as_it_was_written_and_only_so(certificate: Certificate, tmp_path: Path) -> None:
    path = tmp_path / "a" / "certificate.json"
    write_certificate(certificate, path)
    assert read_certificate(path) == certificate
    document = json.loads(path.read_text("utf-8"))
    document["certificate"]["counts"]["backends:RIGHT pass-exact"] += 1
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(BadCertificate, match="not what its digest stands for"):
        read_certificate(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "vyre-conform certificate 0"}'])
def test_other_files_are_no_certificates(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(BadCertificate, match="Fix: "):
        read_certificate(path)


# ── refusals ──


def test_nothing_is_certified_that_proves_nothing(run: Run) -> None:
    bad = replace(run.cells[0], state=State.FAIL, reason="it lies")
    mismatch = OracleMismatch(address("traps", "one"), "numpy", "it is 4")
    wrong = {
        "no cell was judged": replace(run, cells=[]),
        "the run is not complete": replace(run, is_complete=False),
        "it is one shard of a run": replace(run, task=replace(run.task, shard=(1, 2))),
        "1 cells failed": replace(run, cells=[bad, *run.cells[1:]]),
        "the opinions disagree about 1 cases": replace(run, mismatches=[mismatch]),
        "VYRE_SHADOW is set": replace(run, host={**run.host, "VYRE_SHADOW": "always"}),
        "the reference alone": replace(run, backends=[replace(run.backends[0], backend="reference")]),
        "did not run: no device": replace(run, backends=[*run.backends, replace(run.backends[0], problem="no device")]),
        "passes no cell": replace(run, cells=[replace(c, state=State.UNSUPPORTED) for c in run.cells]),
    }
    for reason, found in wrong.items():
        with pytest.raises(NotCertifiable, match=reason):
            certify(Report(found), ["run"])


def test_dirty_sources_and_surviving_faults_are_reasons_too(run: Run) -> None:
    dirty = replace(run, sources={"commit": "c0ffee", "dirty": "true"})
    with pytest.raises(NotCertifiable, match=r"the planted fault f survived; the sources have changes") as caught:
        certify(Report(dirty, [Kill("f", "host", "it lies", None)]), ["run"])
    assert caught.value.code == "E1212"


def test_settings_that_change_nothing_are_allowed(run: Run) -> None:
    settings = {"VYRE_CACHE": "off", "VYRE_MINE_DEVICE": "second"}
    assert certify(Report(replace(run, host={**run.host, **settings})), ["run"]).body["host"]["VYRE_CACHE"] == "off"


# ── the sources of a backend ──

VENDOR = """
from acme_mine.port import make
from vyre_driver.backend.registration import Availability, BackendRegistration

registration = BackendRegistration(
    id="mine", precedence=9, contract=1, factory=make, probe=Availability.available
)
"""
PORT = """
from vyre_driver.testing.mock import MockBackend
from vyre_reference.vector import evaluate

def make():
    return MockBackend(evaluate, "mine")
"""


@pytest.fixture
def vendor(install: Callable[..., Path]) -> Path:
    """The folder of an installed package with a backend."""
    file = install("mine", "")
    folder = file.with_suffix("")
    folder.mkdir()
    file.unlink()
    (folder / "__init__.py").write_text(VENDOR, "utf-8")
    (folder / "port.py").write_text(PORT, "utf-8")
    return folder


TRAPS = Suite(queries=(Query.parse("traps:*"),))


def test_the_sources_of_a_backend_are_those_of_its_run(vendor: Path) -> None:
    found = clean(prove(["mine"], TRAPS))
    (hello,) = found.backends
    assert (hello.packages, len(hello.code)) == ("acme_mine", 64)
    certificate = certify(Report(found), ["run"])
    assert certificate.body["backends"][0]["code"] == hello.code
    assert verify(certificate, "mine").holds
    (vendor / "port.py").write_text(PORT + "# changed\n", "utf-8")
    with pytest.raises(
        NotCertifiable, match=r"the sources of mine that are installed \(acme_mine\) are not those of the"
    ):
        certify(Report(found), ["run"])
    result = verify(certificate, "mine", sample=1)
    assert not result.holds
    assert result.problems == [
        (
            "the sources of mine that are installed (acme_mine) are not those that it is about. "
            "Fix: install the packages that it was made with, or say --other-device"
        )
    ]
    assert verify(certificate, "mine", sample=1, other_device=True).holds
    assert verify(certificate, "mine", on="reference", sample=1).holds
    again = prove(["mine"], replace(TRAPS, shard=(1, 2))), prove(["mine"], replace(TRAPS, shard=(2, 2)))
    assert again[0].backends[0].code == again[1].backends[0].code != hello.code


def test_a_checkout_of_a_backend_with_changes_is_not_certified(vendor: Path) -> None:
    found = clean(prove(["mine"], TRAPS))
    assert checkout(["acme_mine"]) == {}
    git = ("git", "-C", str(vendor.parent), "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "all")):
        subprocess.run([*git, *words], check=True)
    assert checkout(["acme_mine"])["dirty"] == "false"
    (vendor / "new.py").write_text("", "utf-8")
    dirty = replace(found.backends[0], sources=checkout(["acme_mine"]), code=package_digest(["acme_mine"]))
    with pytest.raises(NotCertifiable, match=r"the sources of mine \(acme_mine\) have changes that are not committed"):
        certify(Report(replace(found, backends=[dirty])), ["run"])


def test_packages_are_found_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for path in ("evil/__init__.py", "evil/part.py", "shared/mine/__init__.py", "shared/other/__init__.py", "one.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("raise SystemExit\n", "utf-8")
    assert roots("evil.part") == (tmp_path / "evil" / "part.py",)
    assert own_packages(["evil.part", "shared.mine", "one", "vyre_driver.engine"]) == ("evil", "shared.mine", "one")
    before = package_digest(["shared.mine"])
    (tmp_path / "shared/other/more.py").write_text("", "utf-8")
    assert package_digest(["shared.mine"]) == before
    (tmp_path / "shared/mine/more.py").write_text("", "utf-8")
    assert package_digest(["shared.mine"]) != before
    assert roots("../etc") == roots("") == roots("one.two") == roots("zipimport") == roots("sys") == ()
    assert own_packages(["", "zipimport", "sys", "no_such_module"]) == ()


# ── replay ──


def test_a_replay_gives_the_same_on_any_right_backend(certificate: Certificate) -> None:
    seen: list[Cell] = []
    result = verify(certificate, "backends:RIGHT", on="reference", watch=seen.append)
    assert result.holds
    assert result.replayed == result.certified == len(seen)
    assert result.device


def test_a_known_gap_is_one_in_the_replay_too() -> None:
    rem = Query.parse("ops:rem:dtype=u8,values=random")
    gap = Gap(rem, "zeros", "issue 7", "backends:*")
    found = clean(prove(["backends:FRAGILE"], Suite(queries=(rem, Query.parse("traps:*")), gaps=(gap,))))
    certificate = certify(Report(found), ["run"])
    assert certificate.body["counts"]["backends:FRAGILE xfail"] == 1
    assert verify(certificate, "backends:FRAGILE", on="backends:FRAGILE", accepted=[gap]).holds
    assert not verify(certificate, "backends:FRAGILE", on="backends:RIGHT", accepted=[gap]).holds  # there it is no gap
    (problem,) = verify(certificate, "backends:FRAGILE", on="backends:FRAGILE").problems
    assert problem == "it relies on a known gap that is not accepted here: ops:rem:dtype=u8,values=random: zeros"


def test_a_cell_that_was_skipped_may_be_judged_in_the_replay_and_may_not_fail() -> None:
    """What an engine emits is looked at, what the reference computes has nothing to look at."""
    queries = (Query.parse("claims:mechanisms"), Query.parse("traps:*"))
    found = clean(prove(["backends:RIGHT"], Suite(queries=queries)))
    certificate = certify(Report(found), ["run"])
    assert certificate.body["counts"]["backends:RIGHT skipped"] == 1
    there, engine = (verify(certificate, "backends:RIGHT", on=on) for on in ("reference", ENGINE))
    assert (there.holds, there.beyond) == (True, 0)
    assert (engine.holds, engine.beyond) == (True, 1)
    cells = [replace(cell, state=State.PASS) if cell.state is State.SKIPPED else cell for cell in found.cells]
    claimed = certify(Report(replace(found, cells=cells)), ["run"])
    assert not verify(claimed, "backends:RIGHT", on="reference").holds, "that it passes is not seen there"


def test_a_replay_finds_a_backend_that_lies(certificate: Certificate) -> None:
    result = verify(certificate, "backends:RIGHT", on="backends:FRAGILE")
    assert not result.holds
    assert {cell.address.name for cell in result.differing} == {"rem"}


def test_a_sample_is_decided_by_the_verifier(certificate: Certificate) -> None:
    """By something that a forger cannot know before, and that repeats the sample afterwards."""
    samples = []
    for seed in (None, None, 5, 5):
        seen: list[Cell] = []
        found = verify(certificate, "backends:RIGHT", on="reference", sample=2, seed=seed, watch=seen.append)
        assert found.holds
        assert 2 <= found.replayed < found.certified
        samples.append((found.seed, [str(cell.address) for cell in seen]))
    assert samples[0][0] != samples[1][0]
    assert samples[2] == samples[3]
    again: list[Cell] = []
    verify(certificate, "backends:RIGHT", on="reference", sample=2, seed=samples[0][0], watch=again.append)
    assert [str(cell.address) for cell in again] == samples[0][1]


def test_a_name_in_a_certificate_is_no_module(certificate: Certificate) -> None:
    found = verify(certificate, "backends:RIGHT")
    assert not found.holds
    assert found.replayed == 0
    assert "if you trust that module, name it: --on backends:RIGHT" in found.problems[0]


def test_an_opinion_that_is_late_refutes_nothing(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    late = Verdict(AsEvaluated(), {}, undecided={"scalar": "no answer within 60 s"})
    monkeypatch.setattr(import_module("vyre_conform.certificate.verify"), "settle", lambda case, seconds: late)
    found = verify(certificate, "backends:RIGHT", on="reference")
    assert (found.holds, found.is_refuted) == (False, False)
    assert "traps:one" in found.undecided


# ── signatures ──


@pytest.fixture
def key(tmp_path: Path) -> tuple[Path, str]:
    """A private key in a file, and the public one in hex."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    private = ed25519.Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "key.pem").write_bytes(pem)
    public = private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return tmp_path / "key.pem", public.hex()


def test_a_signature_holds_for_what_was_signed_alone(certificate: Certificate, key: tuple[Path, str]) -> None:
    private, public = key
    signed = sign(certificate, private)
    assert signers(signed, {public: "me"}) == ["me"]
    assert signers(signed, {"00" * 32: "somebody else"}) == []
    assert signed.digest == certificate.digest
    with pytest.raises(BadCertificate, match=public):
        signers(replace(signed, body={**signed.body, "run": "another"}), {public: "me"})


def test_a_trust_store_is_text(tmp_path: Path, key: tuple[Path, str]) -> None:
    path = tmp_path / "trust"
    path.write_text(f"# whom we trust\n{key[1]}  the release key # of this year\n\n")
    assert read_trust(path) == {key[1]: "the release key"}
    path.write_text(f"{key[1]}\tanother\n")
    assert read_trust(path) == {key[1]: "another"}
    path.write_text("ab  nobody\n")
    with pytest.raises(BadKey, match="64 hex digits"):
        read_trust(path)


def test_a_file_without_a_key_is_refused(certificate: Certificate, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    (tmp_path / "key.pem").write_text("no key")
    with pytest.raises(BadKey, match="openssl genpkey"):
        sign(certificate, tmp_path / "key.pem")


def test_a_key_of_openssl_signs(certificate: Certificate, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    made = tmp_path / "key.pem"
    try:
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", made], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl here")
    (public,) = sign(certificate, made).signatures
    assert len(public) == 64
