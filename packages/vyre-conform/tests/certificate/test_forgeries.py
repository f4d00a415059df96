"""Certificates and runs that somebody has changed and given a digest that fits again."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vyre_conform import Query, Run, State, Suite, prove, read_run, write_run
from vyre_conform.certificate import (
    BadCertificate,
    Certificate,
    NotCertifiable,
    Verification,
    certify,
    read_certificate,
    verify,
    write_certificate,
)
from vyre_conform.gaps import Gap
from vyre_conform.report import Report

pytestmark = pytest.mark.usefixtures("forked")

NAME = "reference-scalar"
CASES = (Query.parse("traps:*"), Query.parse("ops:add:dtype=u8"), Query.parse("claims:mechanisms"))
GAP = Gap(Query.parse("ops:add:dtype=u8"), "it adds wrongly", "issue 7", "other")
Body = dict[str, Any]


@pytest.fixture(scope="module")
def run(forked: None) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("VYRE_SHADOW", "VYRE_OBSERVE", "VYRE_TEST_BACKEND", "VYRE_ACCEPT"):
            patch.delenv(name, raising=False)
        found = prove([NAME], Suite(queries=CASES, gaps=(GAP,)))
    return replace(found, sources={"commit": "c0ffee", "dirty": "false"})


@pytest.fixture(scope="module")
def certificate(run: Run) -> Certificate:
    return certify(Report(run), ["run"])


def forged(certificate: Certificate, change: Callable[[Body], object], path: Path) -> Certificate:
    """As it is read after a change, with a digest that fits."""
    body = deepcopy(dict(certificate.body))
    change(body)
    write_certificate(Certificate(body), path)
    return read_certificate(path)


def test_an_honest_certificate_holds(certificate: Certificate, tmp_path: Path) -> None:
    found = verify(forged(certificate, lambda body: None, tmp_path / "c"), NAME)
    assert found.holds
    assert (found.missing, found.uncertified, found.problems) == ([], [], [])


# ── what contradicts itself is no certificate ──


def without_a_cell(body: Body) -> None:
    del body["cells"][NAME]["traps:one"]
    body["counts"][f"{NAME} pass-exact"] -= 1


def as_unsupported(body: Body) -> None:
    (row,) = body["not_passed"]
    body["counts"][f"{NAME} unsupported"] = body["counts"].pop(f"{NAME} skipped")
    row["state"] = "unsupported"


def as_gap(body: Body) -> None:
    (row,) = body["not_passed"]
    body["counts"][f"{NAME} xfail"] = body["counts"].pop(f"{NAME} skipped")
    row |= {"state": "xfail", "reason": "it adds wrongly (7)"}


def as_failure(body: Body) -> None:
    (row,) = body["not_passed"]
    body["counts"][f"{NAME} fail"] = body["counts"].pop(f"{NAME} skipped")
    row["state"] = "fail"


def unlisted(body: Body) -> None:
    body["not_passed"].clear()
    body["counts"] = {f"{NAME} pass-exact": sum(body["counts"].values())}


CONTRADICTIONS: dict[str, tuple[Callable[[Body], object], str]] = {
    "counts": (lambda b: b["counts"].update({f"{NAME} pass-exact": 999}), "its counts are not those of its cells"),
    "a cell left out": (without_a_cell, r"it has \d+ cells on reference-scalar, its task \d+"),
    "a gap of another backend": (as_gap, "claims:mechanisms on reference-scalar is no known gap of the task"),
    "a failure": (as_failure, "claims:mechanisms on reference-scalar is listed as fail"),
    "dirty": (lambda b: b["sources"].update(dirty="true"), "the sources have changes"),
    "a fault": (lambda b: b["kills"].update(f=None), "the planted fault f survived"),
    "a setting": (lambda b: b["host"].update(VYRE_SHADOW="always"), "VYRE_SHADOW is set in the environment"),
    "a shard": (lambda b: b["task"].update(shard=[1, 2]), "one shard"),
    "no cells": (lambda b: b.update(cells={}, backends=[], not_passed=[], counts={}), "it certifies no cell"),
    "a backend more": (
        lambda b: b["backends"].append(dict(b["backends"][0], backend="x")),
        "not those of its backends",
    ),
    "something to grind": (lambda b: b.update(nonce=7), "it has not the fields of a certificate: nonce"),
    "endless launches": (lambda b: b["task"].update(milliseconds=10**12), "each launch was given"),
    "endless repeats": (lambda b: b["task"].update(repeats=10**9), "repeated 1000000000 times"),
    "endless programs": (lambda b: b["task"].update(fuzz=10**9), "are inconsistent"),
    "a listed stranger": (
        lambda b: b["not_passed"].append(dict(b["not_passed"][0], case="traps:no")),
        "counts|not a cell",
    ),
}


@pytest.mark.parametrize("forgery", CONTRADICTIONS)
def test_a_certificate_that_contradicts_itself_is_refused(
    forgery: str, certificate: Certificate, tmp_path: Path
) -> None:
    change, words = CONTRADICTIONS[forgery]
    with pytest.raises(BadCertificate, match=words):
        forged(certificate, change, tmp_path / "c")


def test_what_a_reader_has_to_trust_cannot_be_edited(certificate: Certificate, tmp_path: Path) -> None:
    write_certificate(certificate, tmp_path / "c")
    document = json.loads((tmp_path / "c").read_text("utf-8"))
    assert document["trust"]["as the signer claims"].startswith("run, command, host")
    document["trust"] = {"shown by a replay": "everything"}
    (tmp_path / "c").write_text(json.dumps(document))
    with pytest.raises(BadCertificate, match="what certificates of this schema ask a reader to trust"):
        read_certificate(tmp_path / "c")


# ── what only a replay refutes ──


def launches_left_out(body: Body) -> None:
    """Whole launches, as those that fail, with everything that counts them."""
    cells = body["cells"][NAME]
    for address in [address for address in cells if address.startswith("ops:")]:
        del cells[address]
    body["task"]["cells"] = len(cells)
    body["counts"][f"{NAME} pass-exact"] = len(cells) - len(body["not_passed"])


def corpus_replaced(body: Body) -> None:
    """And with queries that mean the rest alone: the digest of the corpus is another's then."""
    launches_left_out(body)
    body["task"]["queries"] = ["traps:*", "claims:mechanisms"]


REFUTED: dict[str, tuple[Callable[[Body], object], Callable[[Verification], object]]] = {
    "launches left out": (launches_left_out, lambda found: len(found.uncertified) > 5 and found.problems),
    "another corpus": (corpus_replaced, lambda found: "not the installed one" in str(found.problems)),
    "a relabelled cell": (as_unsupported, lambda found: [c.address.name for c in found.differing] == ["mechanisms"]),
    "a cell that is not listed": (unlisted, lambda found: [c.address.name for c in found.differing] == ["mechanisms"]),
    "a device": (
        lambda b: b["backends"][0]["facts"].update(device="a better one"),
        lambda found: "it is about" in found.problems[0] and "a better one" in found.problems[0],
    ),
    "a driver": (
        lambda b: b["backends"][0]["facts"].update(driver_version="99"),
        lambda found: "it is about" in found.problems[0],
    ),
    "a version": (
        lambda b: b["backends"][0].update(version="99"),
        lambda found: "it is about" in found.problems[0],
    ),
    "other sources": (
        lambda b: b["task"].update(code="0" * 64),
        lambda found: "other sources than those installed here" in found.problems[0],
    ),
    "a seed": (lambda b: b["task"].update(seed=1), lambda found: found.differing),
    "a size": (lambda b: b["task"].update(size="huge"), lambda found: "no corpus of the size" in found.problems[0]),
    "a result": (
        lambda b: b["cells"][NAME].update({"traps:one": "0" * 64}),
        lambda found: [str(cell.address) for cell in found.differing] == ["traps:one"],
    ),
}


@pytest.mark.parametrize("forgery", REFUTED)
def test_a_forgery_does_not_hold(forgery: str, certificate: Certificate, tmp_path: Path) -> None:
    change, refutes = REFUTED[forgery]
    found = verify(forged(certificate, change, tmp_path / "c"), NAME)
    assert not found.holds
    assert found.is_refuted
    assert refutes(found), found


def test_another_device_is_allowed_where_the_reader_says_so(certificate: Certificate, tmp_path: Path) -> None:
    change, _ = REFUTED["a device"]
    assert verify(forged(certificate, change, tmp_path / "c"), NAME, other_device=True).holds
    assert verify(forged(certificate, change, tmp_path / "c"), NAME, on="reference").holds


def test_a_gap_that_was_added_later_is_accepted_by_nobody(run: Run, tmp_path: Path) -> None:
    """A failing cell becomes a known gap: the certificate says so, and the reader has to agree."""
    gap = replace(GAP, backend=NAME)
    cells = [
        replace(cell, state=State.XFAIL, reason="it adds wrongly (7)") if gap.concerns(cell) else cell
        for cell in run.cells
    ]
    relabelled = replace(run, task=replace(run.task, gaps=(gap.row,)), cells=cells)
    found = verify(certify(Report(relabelled), ["run"]), NAME)
    assert not found.holds
    assert "a known gap that is not accepted here: ops:add:dtype=u8: it adds wrongly" in found.problems[0]


# ── runs ──


def rewritten(run: Run, path: Path) -> Run:
    """The run in a file whose chain of digests fits."""
    write_run(run, path)
    return read_run(path)


def test_a_run_with_fewer_cells_than_its_task_is_not_certified(run: Run, tmp_path: Path) -> None:
    shorter = rewritten(replace(run, cells=run.cells[:-3]), tmp_path / "run")
    assert shorter.is_complete, "its file says so"
    with pytest.raises(NotCertifiable, match=r"\d+ cells were merged, expected \d+ on each of 1 backends"):
        certify(Report(shorter), ["run"])


def test_a_run_whose_task_has_fewer_cells_is_not_certified(run: Run, tmp_path: Path) -> None:
    few = run.cells[:-3]
    shorter = rewritten(replace(run, cells=few, task=replace(run.task, cells=len(few))), tmp_path / "run")
    with pytest.raises(NotCertifiable, match="the corpus of the task is not the one that is installed"):
        certify(Report(shorter), ["run"])


def test_a_cell_twice_is_no_other_cell(run: Run, tmp_path: Path) -> None:
    doubled = rewritten(replace(run, cells=[*run.cells[:-1], run.cells[0]]), tmp_path / "run")
    with pytest.raises(NotCertifiable, match="cells were merged"):
        certify(Report(doubled), ["run"])


def test_cells_of_a_stranger_are_not_certified(run: Run, tmp_path: Path) -> None:
    renamed = [replace(cell, address=replace(cell.address, name=f"{cell.address.name}_")) for cell in run.cells]
    with pytest.raises(NotCertifiable, match="cells are not in the corpus, as "):
        certify(Report(rewritten(replace(run, cells=renamed), tmp_path / "run")), ["run"])


def test_a_run_of_other_sources_is_not_certified(run: Run, tmp_path: Path) -> None:
    other = rewritten(replace(run, task=replace(run.task, code="0" * 64)), tmp_path / "run")
    with pytest.raises(NotCertifiable, match="the sources of vyre that are installed are not those of the run"):
        certify(Report(other), ["run"])


def test_sources_are_those_of_the_run_and_not_of_its_certification(run: Run, tmp_path: Path) -> None:
    dirty = rewritten(replace(run, sources={"commit": "c0ffee", "dirty": "true"}), tmp_path / "run")
    with pytest.raises(NotCertifiable, match="the sources have changes that are not committed"):
        certify(Report(dirty), ["run"])
