"""Verification by replay: cells are judged again, here and now, and have to end as certified.

The cells that are certified have to be all cells of the task, as the installed corpus has them. A cell that was skipped
is certified as not judged. Where it can be judged now, it may pass, and may not be bad. A signature says who has seen
it; a replay shows it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from random import Random

from vyre_conform.case import Size, Spec
from vyre_conform.cell import Cell, State
from vyre_conform.certificate.document import Certificate, cell_digest
from vyre_conform.digest import digest_of
from vyre_conform.gaps import Gap
from vyre_conform.host import code_digest
from vyre_conform.judge import forgive, judge, skip
from vyre_conform.oracle import settle
from vyre_conform.proving import suite_of
from vyre_conform.run import Task
from vyre_conform.show import subject
from vyre_conform.worker import Hello, NamedBy, Worker
from vyre_driver.registry.backends import split_device

SEED_BITS = 64


@dataclass(slots=True)
class Verification:
    """What the replay of a certified `backend` on `here` has shown.

    `differing` cells ended otherwise, `missing` ones are not in the installed corpus, `uncertified` ones are there and
    not in the certificate. `undecided` cases could not be judged: an opinion did not come in time. `problems` are
    claims of the certificate that are not so here. `beyond` counts cells that were skipped when it was made, and pass.
    """

    backend: str
    here: str
    certified: int
    seed: int
    """What a sample was drawn by."""
    replayed: int = 0
    beyond: int = 0
    differing: list[Cell] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    uncertified: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    device: str = ""
    """On which the replay took place."""

    @property
    def is_refuted(self) -> bool:
        """Whether something that the certificate says is not so."""
        return bool(self.differing or self.missing or self.uncertified or self.problems)

    @property
    def holds(self) -> bool:
        """Whether cells were run, all of them were decided, and none refutes the certificate."""
        return self.replayed > 0 and not self.undecided and not self.is_refuted


def verify(
    certificate: Certificate,
    backend: str,
    *,
    on: str | None = None,
    other_device: bool = False,
    accepted: Collection[Gap] = (),
    sample: int | None = None,
    seed: int | None = None,
    watch: Callable[[Cell], None] = lambda cell: None,
) -> Verification:
    """Run the cells of a certified `backend` again, all or a `sample` of its cases.

    They run on the backend `on`: by default the same one, on the certified device unless `other_device` allows any. The
    name `backend` is the certificate's, and means an installed backend only; `on` is the caller's, and may be
    ``module:attribute``. A sample is drawn by `seed`, by default a random one: never by anything in the certificate.
    Known gaps are `accepted` by the caller, or refute the certificate.
    """
    task, states = certificate.task, certificate.states(backend)
    certified: dict[str, str] = certificate.body["cells"][backend]
    found = Verification(backend, on or backend, len(certified), secrets.randbits(SEED_BITS) if seed is None else seed)
    mine = [gap for gap in certificate.gaps if fnmatchcase(backend, gap.backend)]
    rows = {gap.row for gap in accepted}
    for gap in mine:
        if gap.row not in rows:
            found.problems.append(f"it relies on a known gap that is not accepted here: {gap.query.text}: {gap.reason}")
    specs = _specs(task, found)
    known = {str(address): None for spec in specs for address in spec.cells}
    found.missing = sorted(certified.keys() - known.keys())
    found.uncertified = [address for address in known if address not in certified]
    chosen = [spec for spec in specs if any(str(address) in certified for address in spec.cells)]
    if sample is not None and sample < len(chosen):
        chosen = Random(found.seed).sample(chosen, sample)
    named_by = NamedBy.FILE if on is None else NamedBy.CALLER
    with Worker(found.here, task.seconds, named_by=named_by) as worker:
        if chosen and not _is_open(worker, certificate, found, other_device or on not in (None, backend)):
            return found
        for cell in _replayed(chosen, worker, task, found):
            _compare(forgive(cell, [replace(gap, backend="*") for gap in mine]), certified, states, found)
            watch(cell)
    return found


def _specs(task: Task, found: Verification) -> list[Spec]:
    """The cases of the certified task, as the installed suite has them."""
    if task.code != code_digest():
        versions = ", ".join(f"{name} {version}" for name, version in task.versions.items())
        found.problems.append(f"it was made by other sources than those installed here: {versions}")
    if task.size not in (size.name.lower() for size in Size):
        found.problems.append(f"there is no corpus of the size {task.size!r}")
        return []
    specs = suite_of(task).specs(task.seed)
    wanted = [str(address) for spec in specs for address in spec.cells]
    if (len(wanted), digest_of(*map(str.encode, wanted))) != (task.cells, task.corpus):
        found.problems.append(f"its corpus of {task.cells} cells is not the installed one of {len(wanted)}")
    return specs


def _is_open(worker: Worker, certificate: Certificate, found: Verification, any_device: bool) -> bool:
    """Open the backend, and compare its device with the certified one."""
    hello = worker.start()
    if hello.problem:
        by_hand = ":" in split_device(found.here)[0] and worker.named_by is NamedBy.FILE
        fix = f"if you trust that module, name it: --on {found.here}" if by_hand else hello.fix
        found.problems.append(f"{found.here} cannot run here: {hello.problem}. Fix: {fix}")
        return False
    found.device = subject(hello)
    facts = next(row for row in certificate.body["backends"] if row["backend"] == found.backend)
    certified = Hello.from_json(facts)
    if not any_device and (certified.version, certified.facts) != (hello.version, hello.facts):
        fix = "verify it on that device, or say --other-device"
        found.problems.append(f"it is about {subject(certified)}, and here is {found.device}. Fix: {fix}")
    if not any_device and certified.code != hello.code:
        packages = hello.packages or certified.packages
        fix = "install the packages that it was made with, or say --other-device"
        found.problems.append(f"the sources of {found.here} that are installed ({packages}) are not those that it "
                              f"is about. Fix: {fix}")  # fmt: skip
    return True


def _replayed(specs: list[Spec], worker: Worker, task: Task, found: Verification) -> Iterator[Cell]:
    for spec in specs:
        case = spec.case(task.seed)
        verdict = settle(case, seconds=task.seconds)
        if verdict.undecided:
            found.undecided.append(str(case.address))
        elif verdict.is_settled:
            yield from judge(case, verdict, found.here, worker.ask(case.launch, task.repeats))
        else:
            yield from skip(case, found.here, verdict.why_not)


def _compare(cell: Cell, certified: dict[str, str], states: dict[str, State], found: Verification) -> None:
    address = str(cell.address)
    found.replayed += 1
    if states.get(address) is State.SKIPPED and cell.state is State.PASS:
        found.beyond += 1
    elif (certified.get(address), states.get(address)) != (cell_digest(cell), cell.state):
        found.differing.append(cell)
