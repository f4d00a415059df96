"""How everything here is measured: one process for each peer, all alive, taking turns.

What disturbs the machine during a run disturbs every peer of a case alike, so ratios within one run hold better than
the figures themselves. A peer proves its result before it is timed, and one that is missing, that cannot express the
case, or that computes something else becomes a row with the reason.
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from records import Record

HERE = Path(__file__).parent
ANSWER = "\x1eanswer "
"""Starts the lines of the protocol among whatever a library prints."""

SETTLE = 0.04
"""Seconds between two turns: threads of some libraries spin for a while when their work is done."""

LEAST_ROUNDS = 2
"""Turns of a trial however long they take."""

SUITES = (
    "ir",
    "evaluators",
    "races",
    "dispatch",
    "threads",
    "resident",
    "graphs",
    "kernels",
    "core",
    "written",
    "algorithms",
    "elementary",
    "startup",
)


class Scale(Enum):
    """How large the cases are."""

    FULL = "full"
    TOY = "toy"
    """Seconds for everything: shows that the harness works, and no figure means anything."""


class NotHere(Exception):
    """The peer cannot take part in a case; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Who takes part: `modules` must be importable, `environment` is set before its process starts."""

    modules: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_vyre(self) -> bool:
        return any(name.startswith("vyre") for name in self.modules)


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to do, at one size."""

    name: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One way in which a peer does a case.

    `run` is timed, unless it gives a float, which is then the time in seconds (a device's own clock, for instance).
    `before` prepares each run, `is_right` judges one that was made before. `amount` is the work of a run, in the unit
    that the suite's table divides by, `facts` what else belongs into the row. Work of one thread can take
    `time.process_time` as its `clock`, which other users of the machine do not slow down.
    """

    run: Callable[[], object]
    is_right: Callable[[], bool] = lambda: True
    before: Callable[[], object] = lambda: None
    amount: float = 1.0
    facts: Mapping[str, object] = field(default_factory=dict)
    clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured: `seconds` (and the suite's `CALLS`) bound one turn, `case_seconds` all turns of a trial but
    for the first few.
    """

    scale: Scale
    rounds: int
    seconds: float = 0.05
    case_seconds: float = 4.0
    patience: float = 1.0
    """Seconds of one run beyond which a trial is left out where its case comes again, larger."""


# ── the process of one peer ──────────────────────────────────────────────────────────────────────────────────────────


def serve(suite: Any, peer: str, orders: Iterable[str], answers: TextIO) -> None:
    """Take orders, one JSON text a line, until there are no more."""
    trials: dict[str, Trial] = {}
    for line in orders:
        order = json.loads(line)
        try:
            match order["do"]:
                case "prepare":
                    trials.clear()
                    made = suite.prepare(peer, Case(order["case"], order["size"]))
                    trials |= _right_ones({name: made[name] for name in made if name not in order["without"]})
                    rows = {name: {"amount": trial.amount, **trial.facts} for name, trial in trials.items()}
                    answer: dict[str, Any] = {"trials": rows}
                case "run":
                    answer = {"samples": list(_samples(trials[order["trial"]], order["calls"], order["seconds"]))}
                case unknown:
                    raise ValueError(unknown)
        except NotHere as reason:
            answer = {"skipped": str(reason)}
        except ModuleNotFoundError as error:
            answer = {"skipped": f"not installed ({error.name})"}
        except Exception as error:
            traceback.print_exc()
            answer = {"skipped": f"{type(error).__name__}: {error}"}
        answers.write(ANSWER + json.dumps(answer) + "\n")
        answers.flush()


def _right_ones(trials: Mapping[str, Trial]) -> Mapping[str, Trial]:
    for name, trial in trials.items():
        trial.before()
        trial.run()
        if not trial.is_right():
            raise NotHere(f"wrong result of {name or 'its only way'}")
    return trials


def _samples(trial: Trial, calls: int, seconds: float) -> Iterator[float]:
    """Seconds for each run, at least one."""
    end = time.perf_counter() + seconds
    for _ in range(calls):
        trial.before()
        started = trial.clock()
        result = trial.run()
        took = trial.clock() - started
        yield result if isinstance(result, float) else took
        del result
        if time.perf_counter() > end:
            return


class Worker:
    """The other end of `serve`."""

    def __init__(self, suite: str, name: str, peer: Peer, scratch: Path) -> None:
        self.name = name
        environment = os.environ | _quiet(scratch) | dict(peer.environment)
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed with the worker
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), suite, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=environment,
        )

    def ask(self, **order: Any) -> dict[str, Any]:
        """The answer, or the reason why there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            for line in self._process.stdout:
                if line.startswith(ANSWER):
                    return json.loads(line.removeprefix(ANSWER))  # type: ignore[no-any-return]
        except OSError:
            pass
        return {"skipped": f"its process ended: {_ending(self._process.wait())}{self._last_line()}"}

    def close(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._said.close()

    def _last_line(self) -> str:
        self._said.seek(0)
        lines = [line for line in map(str.strip, self._said) if line]
        return f" ({lines[-1]})" if lines else ""


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def _quiet(scratch: Path) -> dict[str, str]:
    """Variables that keep peers on the CPU, quiet, and their disk caches in a folder of this run."""
    return {
        "JAX_PLATFORMS": "cpu",
        "POCL_CACHE_DIR": str(scratch / "pocl"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")])),
        "TI_LOG_LEVEL": "error",
        "TI_OFFLINE_CACHE_FILE_PATH": str(scratch / "taichi"),
        "WARP_CACHE_PATH": str(scratch / "warp"),
        "XDG_CACHE_HOME": str(scratch),
        "XDG_RUNTIME_DIR": str(scratch),
    }


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def measure(
    name: str,
    plan: Plan,
    wanted: Callable[[str, Peer], bool],
    is_chosen: Callable[[Case], bool],
    say: Callable[[str], None],
) -> list[Record]:
    """The rows of the chosen cases of one suite, by the peers that are wanted."""
    suite = import_module(f"suites.{name}")
    peers = {peer: facts for peer, facts in suite.PEERS.items() if wanted(peer, facts)}
    records: list[Record] = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        workers = {peer: Worker(name, peer, facts, scratch) for peer, facts in peers.items()}
        for worker in workers.values():
            stack.callback(worker.close)
        for case in filter(is_chosen, suite.cases(plan.scale)):
            say(f"{name}: {case.name}, {case.size}")
            taking_part = [worker for peer, worker in workers.items() if suite.takes_part(peer, case)]
            rows = [row for row in records if row["case"] == case.name and row.get("median", 0) > plan.patience]
            slow = {(row["peer"], row["variant"]): row for row in rows}
            for row in _case(case, taking_part, plan, suite.CALLS, slow):
                records.append({"suite": name, "case": case.name, "size": case.size} | row)
    return records


def _case(
    case: Case, workers: Sequence[Worker], plan: Plan, calls: int, slow: Mapping[tuple[str, str], Record]
) -> list[Record]:
    """The rows of one case. `slow` are the trials that were too slow already, with the row that tells."""
    rows: list[Record] = []
    turns: list[Turns] = []
    for worker in workers:
        without = {variant: row for (peer, variant), row in slow.items() if peer == worker.name}
        for variant, row in without.items():
            reason = f"{variant} took {row['median']:.1f} s at {row['size']} already"
            rows.append({"peer": worker.name, "variant": variant, "skipped": reason})
        answer = worker.ask(do="prepare", case=case.name, size=case.size, without=list(without))
        if "skipped" in answer:
            rows.append({"peer": worker.name, "variant": "", "skipped": one_line(answer["skipped"])})
        for trial, facts in answer.get("trials", {}).items():
            row = {"peer": worker.name, "variant": trial, **facts}
            rows.append(row)
            turns.append(Turns(worker, row))
    for _ in range(plan.rounds):
        for turn in turns:
            if turn.spent < plan.case_seconds or turn.taken < LEAST_ROUNDS:
                turn.take(calls, plan.seconds)
    for turn in turns:
        turn.row |= summary(turn.samples) if turn.samples else {"skipped": "ended while it was timed"}
    return rows


@dataclass(slots=True)
class Turns:
    """One trial in the course of a case: what it gave, and the seconds that this took with all preparation."""

    worker: Worker
    row: Record
    samples: list[float] = field(default_factory=list)
    spent: float = 0.0
    taken: int = 0

    def take(self, calls: int, seconds: float) -> None:
        time.sleep(SETTLE)
        started = time.perf_counter()
        answer = self.worker.ask(do="run", trial=self.row["variant"], calls=calls, seconds=seconds)
        self.samples += answer.get("samples", [])
        self.spent += time.perf_counter() - started
        self.taken += 1


def summary(samples: Sequence[float]) -> Record:
    """Median, quartiles and best of seconds for each run."""
    ordered = sorted(samples)
    low, high = (ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.25, 0.75))
    figures = {"median": statistics.median(ordered), "p25": low, "p75": high, "best": ordered[0]}
    return {name: float(f"{x:.4g}") for name, x in figures.items()} | {"samples": len(ordered)}


def one_line(text: str) -> str:
    """The first line of a reason, without the places of this machine."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    return re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+", "", line)[:160]
