"""Everything that only a GPU can show, part by part, as evidence: one file of facts and one page to read.

    python packages/vyre-driver-cuda/tools/gpu_evidence.py run --out FOLDER [--seconds 540] [--resume FILE] [PART ...]
    python packages/vyre-driver-cuda/tools/gpu_evidence.py keep FILE            # into evidence/cuda and evidence/math

`run` does the parts that are named, or all, in their order, which is that of their worth, as long as there is time for
the next, and no longer. It writes before and after each of them; proofs and benchmarks write what they have on their
way, into FOLDER/parts. With `--resume` it goes on from the file of an earlier run, and from the parts beside it: what
is done there is not done again. A part that fails, or that ends for want of time, is part of the evidence, and the exit
code says so. `--rehearse` runs it on the emulation with toy sizes: to see that everything runs before a GPU is at hand.
What it writes says nothing about a GPU, and `keep` refuses it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
TOOLS = Path(__file__).parent
EMULATION = ROOT / "packages/vyre-driver-cuda/tests/emulation"
DISTRIBUTIONS = (
    *("vyre-foundation", "vyre-math", "vyre-driver", "vyre-reference", "vyre-algorithms", "vyre-driver-opencl"),
    *("vyre-driver-cuda", "vyre-conform", "numpy", "cupy-cuda13x", "cupy-cuda12x", "cuda-bindings"),
    *("nvidia-cuda-nvrtc", "pyopencl"),
)
JOBS = max(1, min(14, (os.cpu_count() or 2) - 1))
"""Processes that use the GPU side by side: each has a context of some hundred MiB there."""
TAIL = 3000
"""Characters of a part's output that are kept."""
OPENCL_LIBRARIES = ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib")

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """How parts are run: `out` is where intermediate files go, and all that commands say; `ends` is when time is up."""

    out: Path
    rehearse: bool
    ends: float

    @property
    def backend(self) -> str:
        """What proofs judge."""
        return "cuda_emulation:rehearsal" if self.rehearse else "cuda"

    @property
    def left(self) -> float:
        """Seconds."""
        return self.ends - time.monotonic()

    def environment(self) -> dict[str, str]:
        if not self.rehearse:
            return dict(os.environ)
        path = os.pathsep.join(filter(None, (str(EMULATION), os.environ.get("PYTHONPATH"))))
        return os.environ | {"PYTHONPATH": path, "VYRE_CUDA_REHEARSAL": "1"}

    def command(self, *words: str, seconds: float, **environment: str) -> Facts:
        """A command to its end, or to that of the time: its status, its time, the end of what it said."""
        started, limit = time.perf_counter(), max(1.0, min(seconds, self.left))
        made = subprocess.Popen(
            words, cwd=ROOT, env=self.environment() | environment, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            said, _ = made.communicate(timeout=limit)
            status = made.returncode
        except subprocess.TimeoutExpired:
            os.killpg(made.pid, signal.SIGKILL)  # with the processes that it has started
            said, status = f"{made.communicate()[0]}\nit took longer than {limit:.0f} s", 124
        took = round(time.perf_counter() - started, 1)
        with (self.out / "log.txt").open("a", encoding="utf-8") as log:
            log.write(f"$ {_shown(words)}\n{said}\nstatus {status}, {took} s\n\n")
        shown = _shown(words).replace(str(self.out), "OUT/parts")
        return {"command": shown, "status": status, "seconds": took, "said": said[-TAIL:]}

    def python(self, *words: str, seconds: float, **environment: str) -> Facts:
        return self.command(sys.executable, *words, seconds=seconds, **environment)


# ── parts ──


def environment(run: Run) -> Facts:
    """What everything else was found on."""
    facts: Facts = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": {name: found for name in DISTRIBUTIONS if (found := _version(name))},
    }
    for name, words in (("gpu", ("nvidia-smi", "-q")), ("nvcc", ("nvcc", "--version"))):
        if shutil.which(words[0]):
            facts[name] = run.command(*words, seconds=60)["said"]
    described = run.python(str(TOOLS / "sources.py"), "device", seconds=300)
    facts["device"] = json.loads(described["said"].splitlines()[-1]) if described["status"] == 0 else described
    return {"status": described["status"], "said": described["said"] if described["status"] else "", **facts}


def tests(run: Run) -> Facts:
    """The tests that need a GPU."""
    words = ("-m", "pytest", "-q", "-rA", "-m", "gpu", "-p", "no:cacheprovider", "packages/vyre-driver-cuda/tests/gpu")
    facts = run.python(*words, seconds=200)
    return facts if " passed" in facts["said"] else facts | {"status": facts["status"] or 1}  # all were skipped


def conform(run: Run) -> Facts:
    """The whole corpus against the evaluators, every byte."""
    return _proven(run, run.backend, "conform", *(_cases("subgroups", "traps") if run.rehearse else ()))


def fuzz(run: Run) -> Facts:
    """Random programs against the evaluators."""
    return _proven(run, run.backend, "fuzz", *_cases("fuzz:*"), "--fuzz", "5" if run.rehearse else "2000")


def conform_opencl(run: Run) -> Facts:
    """The same corpus through NVIDIA's OpenCL, where its library is found."""
    if run.rehearse:
        return {"status": 0, "said": "not rehearsed"}
    found = [p for folder in OPENCL_LIBRARIES for p in sorted(Path(folder).glob("libnvidia-opencl.so*"))]
    if not found:
        return {"status": 0, "said": f"no libnvidia-opencl.so in {', '.join(OPENCL_LIBRARIES)}: not run"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "nvidia.icd").write_text(f"{found[0]}\n", "utf-8")
        named = {"OCL_ICD_VENDORS": folder, "VYRE_OPENCL_DEVICE": "nvidia"}
        return _proven(run, "opencl", "opencl", **named) | {"library": found[0].name}


def math(run: Run) -> Facts:
    """Elementary functions over all 2**32 inputs: digests against those of the evidence."""
    if run.rehearse:
        return {"status": 0, "said": "not rehearsed: 2**32 inputs"}
    known = {p.name.removesuffix(".opencl.json"): p for p in sorted((ROOT / "evidence/math").glob("*.opencl.json"))}
    names = [name for name, file in known.items() if json.loads(file.read_text("utf-8")).get("inputs") == 2**32]
    folder = run.out / "math"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy(ROOT / f"evidence/math/{name}.opencl.json", folder)
    tool = "packages/vyre-math/tools/exhaust.py"
    ask = ("--backend", "cuda", "--like", "opencl", "--evidence", str(folder))
    done = _at_once([lambda name=name: run.python(tool, *ask, name, seconds=500) for name in names], workers=12)
    found = {p.name: json.loads(p.read_text("utf-8")) for p in sorted(folder.glob("*.cuda.json"))}
    said = "\n".join(f"{name}: {facts['said'].strip()[-300:]}" for name, facts in zip(names, done, strict=True))
    return {"status": max((f["status"] for f in done), default=1), "functions": names, "evidence": found, "said": said}


def algorithms(run: Run) -> Facts:
    """The tests of the algorithms: on the GPU they give the digests that are on file, and the reference's bits."""
    if run.rehearse:
        return {"status": 0, "said": "not rehearsed: the tests take the backends that are installed"}
    words = ("-m", "pytest", "-q", "-n", str(JOBS), "-m", "slow or not slow", "-k", "[cuda", "-p", "no:cacheprovider")
    words += ("-p", "no:benchmark")  # which warns where tests run side by side
    return run.python(*words, "packages/vyre-algorithms/tests", "packages/vyre/tests", seconds=400)


def bench(run: Run) -> Facts:
    """Launches, sequences, kernels and copies, beside CuPy and CUDA C++ by hand in the same run."""
    return _tables(run, "gpu_bench.py", "bench")


def work(run: Run) -> Facts:
    """Graphs and algorithms, beside CuPy and JAX in the same run."""
    return _tables(run, "gpu_work.py", "work")


def _tables(run: Run, tool: str, name: str) -> Facts:
    file = run.out / f"{name}.json"
    facts = run.python(str(TOOLS / tool), str(file), *(["--rehearse"] if run.rehearse else []), seconds=600)
    return facts | {"results": json.loads(file.read_text("utf-8")) if file.exists() else None}


def sanitizer(run: Run) -> Facts:
    """compute-sanitizer over a sample of the corpus: accesses, races, barriers."""
    sample = str(TOOLS / "sample.py")
    if run.rehearse:
        return run.python(sample, run.backend, "subgroups:all_ops:size=32,dtype=bool,*", seconds=200)
    if not shutil.which("compute-sanitizer"):
        return {"status": 0, "said": "compute-sanitizer is not on the search path: not run"}
    asked = {"memcheck": ("programs", "memory", "barriers"), "racecheck": ("barriers", "programs"),
             "synccheck": ("barriers", "subgroups")}  # fmt: skip
    done = _at_once(
        [lambda tool=tool, cases=cases: run.command(
            "compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable, sample, "cuda", *cases,
            seconds=480) for tool, cases in asked.items()],
        workers=3,
    )  # fmt: skip
    return {"status": max(f["status"] for f in done), "tools": dict(zip(asked, done, strict=True))}


PARTS: dict[str, tuple[Callable[[Run], Facts], float]] = {
    "environment": (environment, 30),
    "tests": (tests, 90),
    "conform": (conform, 90),
    "bench": (bench, 90),
    "work": (work, 90),
    "algorithms": (algorithms, 60),
    "sanitizer": (sanitizer, 120),
    "math": (math, 120),
    "fuzz": (fuzz, 90),
    "conform-opencl": (conform_opencl, 90),
}
"""By name, with the seconds that must be left for it to begin."""


# ── conformance ──


def _cases(*queries: str) -> list[str]:
    return [word for query in queries for word in ("--cases", query)]


def _proven(run: Run, backend: str, name: str, *words: str, **environment: str) -> Facts:
    """A proof, or what it has come to: it goes on with its journal, which has every cell that was judged."""
    journal = run.out / f"{name}.jsonl"
    call = "import sys; from vyre_conform.cli import conform; conform(sys.argv[1:], 'vyre-conform')"
    facts = run.python(
        "-c", call, "run", "--backend", backend, *words, "--jobs", str(JOBS), "--journal", str(journal), "--resume",
        "--reproducers", str(run.out / "reproducers"), seconds=600, **environment,
    )  # fmt: skip
    cells = _judged(journal)
    others = [cell for cell in cells if cell["state"] != "pass-exact"][:50]
    return facts | {"cells": len(cells), "states": dict(Counter(cell["state"] for cell in cells)), "others": others}


def _judged(journal: Path) -> list[Facts]:
    """The cells of a journal, whose lines are a digest and a record. The last line may be half."""
    cells = []
    for line in journal.read_text("utf-8").splitlines() if journal.exists() else ():
        with suppress(ValueError):
            record = json.loads(line.partition(" ")[2])
            cells += [record["cell"]] if "cell" in record else []
    return cells


def _at_once(calls: list[Callable[[], Facts]], workers: int = 6) -> list[Facts]:
    """Several commands side by side, their results in order."""
    with ThreadPoolExecutor(min(workers, max(1, (os.cpu_count() or 2) - 1))) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


# ── the file and the page ──


def page(evidence: Facts) -> str:
    """The evidence to read."""
    parts = evidence["parts"]
    device = parts.get("environment", {}).get("device", {})
    title = "Rehearsal on the emulation: nothing here was run on a GPU" if evidence["rehearsal"] else "CUDA: evidence"
    lines = [f"# {title}", "", f"{evidence['date']}, {device.get('device', 'unknown device')}.", ""]
    for name, value in device.items():
        lines.append(f"- {name}: {value}")
    lines += [line for note in evidence.get("notes", ()) for line in ("", note)]
    lines += ["", "| part | status | seconds | sources |", "|---|---|---|---|"]
    for name, facts in parts.items():
        sources = facts.get("sources", "").rpartition(":")[2][:12]  # a digest of all files
        lines.append(f"| {name} | {_word(facts)} | {facts.get('took', '')} | `{sources}` |")
    for name, facts in parts.items():
        if "states" in facts:
            counted = ", ".join(f"{count} {state}" for state, count in facts["states"].items()) or "nothing"
            lines += ["", f"## {name}", "", f"{counted}.", ""]
            lines += [f"- {cell['case']}: {cell['state']}: {cell.get('reason', '')}" for cell in facts["others"]]
        if facts.get("results"):
            lines += ["", f"## {name}", ""]
            for table, rows in facts["results"].items():
                lines += [f"### {table}", "", *_table(rows), ""]
        if facts.get("evidence"):
            lines += ["", f"## {name}", "", "| function | digest |", "|---|---|"]
            lines += [f"| {f['function']} | `{f['digest'][:16]}` |" for f in facts["evidence"].values()]
    return "\n".join(lines) + "\n"


def _table(rows: list[Facts]) -> list[str]:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return head + ["| " + " | ".join(str(row.get(column, "")) for column in columns) + " |" for row in rows]


def _word(facts: Facts) -> str:
    status = facts["status"]
    return "passed" if status == 0 and "not run" not in facts.get("said", "")[-200:] else f"status {status}"


def _write(evidence: Facts, out: Path) -> None:
    (out / "evidence.json").write_text(json.dumps(evidence, indent=1) + "\n", "utf-8")
    (out / "evidence.md").write_text(page(evidence), "utf-8")


def _run(options: argparse.Namespace) -> int:
    if not options.rehearse:
        _require_gpu()
    out, started = options.out, time.monotonic()
    if options.rehearse and "evidence" in out.resolve().parts:
        raise SystemExit("a rehearsal is no evidence. Fix: name another folder")
    out.mkdir(parents=True, exist_ok=True)
    run = Run(out / "parts", options.rehearse, started + options.seconds)
    evidence = _resumed(options.resume, run) if options.resume else {"parts": {}}
    evidence |= {"rehearsal": options.rehearse, "date": datetime.now(UTC).strftime("%Y-%m-%d")}
    run.out.mkdir(exist_ok=True)
    sources = run.python(str(TOOLS / "sources.py"), seconds=60)["said"].strip()
    for name in options.parts or PARTS:
        do, needed = PARTS[name]
        if evidence["parts"].get(name, {"status": 1})["status"] == 0:
            continue
        if run.left < needed and not options.rehearse:
            print(f"{name}: needs {needed:.0f} s, {run.left:.0f} are left: go on with --resume", flush=True)
            continue
        began = time.monotonic()
        evidence["parts"][name] = {"status": 1, "said": "it has begun, and not ended"}
        _write(evidence, out)
        try:
            facts = do(run)
        except Exception as error:
            facts = {"status": 1, "said": f"the part itself failed: {error!r}"}
        evidence["parts"][name] = facts | {"took": round(time.monotonic() - began, 1), "sources": sources}
        _write(evidence, out)
        print(f"{name}: status {facts['status']}, {evidence['parts'][name]['took']} s", flush=True)
        if facts["status"]:
            print(facts.get("said", "")[-800:], flush=True)
    return int(any(facts["status"] for facts in evidence["parts"].values()))


def _resumed(file: Path, run: Run) -> Facts:
    """The evidence of an earlier run, whose parts become this one's. A rehearsal goes on as a rehearsal alone."""
    evidence: Facts = json.loads(file.read_text("utf-8"))
    if evidence["rehearsal"] != run.rehearse:
        raise SystemExit(f"{file} is {'a' if evidence['rehearsal'] else 'no'} rehearsal. Fix: name another one")
    earlier = file.parent / "parts"
    if earlier.is_dir() and earlier.resolve() != run.out.resolve():
        shutil.copytree(earlier, run.out, dirs_exist_ok=True)
    return evidence


def _require_gpu() -> None:
    from vyre_driver.errors import BackendUnavailable
    from vyre_driver_cuda import registration

    try:
        registration.probe()
    except BackendUnavailable as error:
        raise SystemExit(f"nothing was run: {error}. `--rehearse` runs all parts on the emulation") from error


def _keep(options: argparse.Namespace) -> int:
    evidence = json.loads(options.file.read_text("utf-8"))
    if evidence["rehearsal"]:
        raise SystemExit("this is a rehearsal on the emulation, no evidence. Fix: run it on a GPU")
    device = evidence["parts"]["environment"]["device"]["device"]
    name = f"{evidence['date']}-{re.sub('[^0-9a-z]+', '-', device.casefold()).strip('-')}"
    folder = ROOT / "evidence/cuda"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(evidence, indent=1) + "\n", "utf-8")
    (folder / f"{name}.md").write_text(page(evidence), "utf-8")
    for file, record in evidence["parts"].get("math", {}).get("evidence", {}).items():
        (ROOT / "evidence/math" / file).write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    print(folder / f"{name}.md")
    return 0


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _shown(words: tuple[str, ...]) -> str:
    return " ".join(["python" if word == sys.executable else word.removeprefix(f"{ROOT}/") for word in words])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run")
    run.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=", ".join(PARTS))
    run.add_argument("--out", type=Path, required=True, help="where evidence.json and evidence.md go")
    run.add_argument("--seconds", type=float, default=540.0, help="how long all of it may take")
    run.add_argument("--resume", type=Path, help="the evidence.json of an earlier run")
    run.add_argument("--rehearse", action="store_true")
    run.set_defaults(do=_run)
    keep = commands.add_parser("keep")
    keep.add_argument("file", type=Path)
    keep.set_defaults(do=_keep)
    options = parser.parse_args()
    found: int = options.do(options)
    return found


if __name__ == "__main__":
    sys.exit(main())
