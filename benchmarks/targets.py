"""The targets that were set before anything was measured, beside what is measured. Verdicts follow from figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import gate
from records import Measured, Record, best_of
from report import NOTHING, Table, figure

OURS, POCL, INTEL = "vyre, CPU", "vyre", "vyre, Intel"
ENDLESS = "vyre, not cancellable"
HAND, HAND_INTEL, C = "OpenCL C", "OpenCL C, Intel", "gcc -O3, OpenMP"
STAGES = ("build", "validate", "encode", "decode", "fingerprint")
TYPED = "dispatch_arrays"
MICROSECONDS = {TYPED: 3, "resident": 1.5, "resident, 64 in a sequence": 1.2}
ONE_CORE, EIGHT = ("vyre, CPU, one worker", "1 thread"), ("vyre, CPU", "8 threads")
BRIEF = 15e-6
"""Seconds. Shorter launches keep the interpreter's lock, so threads take turns."""
BANDWIDTH = ("xor", "saxpy", "stencil", "stencil 2d")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was to be reached and what was. `value` and `least` are in `unit`; lower is better where `is_limit`."""

    what: str
    value: float | None
    target: float
    unit: str
    basis: str = ""
    is_limit: bool = False

    @property
    def is_met(self) -> bool:
        return self.value is not None and (self.value <= self.target if self.is_limit else self.value >= self.target)

    def cells(self) -> dict[str, str]:
        measured = NOTHING if self.value is None else f"{figure(self.value)}{self.unit}"
        sign = "≤" if self.is_limit else "≥"
        verdict = "not measured" if self.value is None else "met" if self.is_met else "behind"
        return {
            "measured": measured,
            "target": f"{sign} {figure(self.target)}{self.unit}",
            "verdict": verdict,
            "of": self.basis,
        }


def table(measured: Mapping[str, Measured]) -> str:
    """All targets with their verdicts, in Markdown."""
    shown = Table(("target of the day",), ["measured", "target", "verdict", "of"])
    verdicts = list(all_of(measured))
    for verdict in verdicts:
        shown.rows[(verdict.what,)] = verdict.cells()
    met = sum(verdict.is_met for verdict in verdicts)
    return f"{met} of {len(verdicts)} are met. Medians of the runs whose tables are below.\n\n{shown.markdown()}"


def all_of(measured: Mapping[str, Measured]) -> Iterator[Verdict]:
    yield from _kernels(measured["kernels"].rows)
    yield from _intel(measured["kernels"].rows)
    yield _cancellation(measured["core"].rows)
    yield from _dispatches(measured["dispatch"].rows)
    yield from _threads(measured["threads"])
    yield from _starts(measured["startup"].rows)
    yield from _evaluators(measured["evaluators"].rows)
    yield from _elementary(measured["elementary"].rows)
    yield from _handling(measured["ir"].rows)
    yield _guards()


# ── kernels ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _kernels(rows: Sequence[Record]) -> Iterator[Verdict]:
    copied = best_of(rows, lambda row: row["case"] == "copy" and not row["peer"].startswith("vyre"))
    for case in BANDWIDTH:
        yield _against(rows, case, copied, 0.9, "the best copy of a peer")
    yield _against(rows, "reduction", copied, 0.8, "the best copy of a peer")
    yield _against(rows, "hash chain", _row(rows, "hash chain", C), 0.8, "gcc")
    yield _against(rows, "matmul", _row(rows, "matmul", HAND), 10, "the same tiles by hand")
    blas = best_of(rows, lambda row: row["case"] in ("matmul", "blocked matmul") and row["peer"] == "NumPy")
    yield _against(rows, "blocked matmul", blas, 0.5, "NumPy's BLAS")
    yield _against(rows, "histogram", _row(rows, "histogram", C), 1, "gcc")
    yield _against(rows, "histogram", _row(rows, "histogram", "Numba"), 1, "Numba")
    for case in ("byte scan", "word scan", "prefix sum", "bfs step"):
        peer = best_of(rows, lambda row, case=case: row["case"] == case and _is_peer(row))  # type: ignore[misc]
        yield _against(rows, case, peer, 1, f"the best peer, {peer['peer']}" if peer else "the best peer")
    yield _worst(rows, OURS, C, 1, "gcc -O3")


def _intel(rows: Sequence[Record]) -> Iterator[Verdict]:
    """What Intel's runtime gains from what we emit for it."""
    yield _worst(rows, INTEL, HAND_INTEL, 0.95, "OpenCL C by hand on Intel's runtime")


def _cancellation(rows: Sequence[Record]) -> Verdict:
    """What it costs that a running launch can be cancelled."""
    names = dict.fromkeys(row["case"] for row in rows)
    ratios = [_ratio(_row(rows, name, ENDLESS), _row(rows, name, "vyre")) for name in names]
    found = [ratio for ratio in ratios if ratio is not None]
    of = f"the time, median of {len(found)} kernels"
    taken = median(found) if found else None
    return Verdict("kernels beside ones that cannot be cancelled", taken, 1.01, " ×", of, is_limit=True)


def _worst(rows: Sequence[Record], ours: str, theirs: str, least: float, basis: str) -> Verdict:
    """The kernel that is worst off stands for all."""
    ratios = []
    for case in dict.fromkeys(row["case"] for row in rows):
        value = _ratio(_row(rows, case, ours, "kernel"), _row(rows, case, theirs))
        if value is not None:
            ratios.append((value, case))
    lowest, case = min(ratios, default=(None, "–"))
    behind = sum(ratio < least for ratio, _ in ratios)
    of = f"{behind} of {len(ratios)} kernels are behind"
    return Verdict(f"{case} beside {basis}, worst case", lowest, least, " ×", of)


def _against(rows: Sequence[Record], case: str, base: Record | None, least: float, basis: str) -> Verdict:
    return Verdict(f"{case} beside {basis}", _ratio(_row(rows, case, OURS, "kernel"), base), least, " ×")


def _is_peer(row: Record) -> bool:
    """Whether a row is of another project, and not on Intel's runtime, which has a target of its own."""
    return not row["peer"].startswith("vyre") and row["peer"] != HAND_INTEL


# ── dispatches and starts ────────────────────────────────────────────────────────────────────────────────────────────


def _dispatches(rows: Sequence[Record]) -> Iterator[Verdict]:
    small, large = ([row for row in rows if row["size"] == size] for size in (2**10, 2**20))
    for variant, most in MICROSECONDS.items():
        taken = _taken(_row(small, "xor", OURS, variant), 1e6)
        yield Verdict(f"1 Ki words, {variant}", taken, most, " µs", is_limit=True)
    ours, raw = _row(large, "xor", OURS, TYPED), _row(large, "xor", "PyOpenCL", "zero copy")
    yield Verdict("1 Mi words beside zero copy by hand", _ratio(raw, ours), 1.1, " ×", "the time", is_limit=True)


def _threads(measured: Measured) -> Iterator[Verdict]:
    """Dispatches a second of eight threads beside those of one on one core, for each core: the worst cases."""
    rows, cores = measured.rows, int(measured.environment.get("cores", 1))  # type: ignore[call-overload]
    one = {row["case"]: row for row in rows if (row["peer"], row["variant"]) == ONE_CORE}
    eight = [row for row in rows if (row["peer"], row["variant"]) == EIGHT]
    brief, long = [], []
    for row in eight:
        rate = _ratio(row, one[row["case"]])
        assert rate is not None
        is_brief = one[row["case"]]["median"] / one[row["case"]]["amount"] < BRIEF
        (brief if is_brief else long).append(rate if is_brief else rate / cores)
    of = "beside one thread, worst case"
    yield Verdict("8 Python threads, less than 15 µs each", min(brief, default=None), 1, " ×", of)
    yield Verdict("8 Python threads, longer, for each core", min(long, default=None), 0.95, " ×", of)


def _starts(rows: Sequence[Record]) -> Iterator[Verdict]:
    """Of fresh processes that find everything in their caches."""
    warm = [row for row in rows if row["case"] == "warm cache"]
    first = _taken(_row(warm, "warm cache", OURS, "first"), 1e3)
    yield Verdict("first dispatch of a fresh process", first, 5, " ms", "its device is open", is_limit=True)
    whole = _ratio(_row(warm, "warm cache", "PyOpenCL", "process"), _row(warm, "warm cache", OURS, "process"))
    yield Verdict("the whole process beside PyOpenCL's", whole, 1, " ×", "the time", is_limit=True)


def _taken(row: Record | None, scale: float) -> float | None:
    """The time, in seconds times `scale`, that one took."""
    return float(row["median"] / row["amount"] * scale) if row else None


# ── evaluators ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _evaluators(rows: Sequence[Record]) -> Iterator[Verdict]:
    ours = "vyre, all lanes at once"
    for case, least in (("xor", 100), ("workgroup reduction", 40), ("histogram", 100)):
        value = _ratio(_row(rows, case, ours), _row(rows, case, "Triton interpreter"))
        yield Verdict(f"evaluator, {case}", value, least, " ×", "Triton's interpreter")
    for case in ("xor", "workgroup reduction", "histogram"):
        value = _ratio(_row(rows, case, ours), _row(rows, case, "Numba simulator"))
        yield Verdict(f"evaluator, {case}, beside Numba", value, 1000, " ×", "Numba's simulator")


def _elementary(rows: Sequence[Record]) -> Iterator[Verdict]:
    """The function that is worst off stands for all."""
    names = list(dict.fromkeys(row["case"] for row in rows))
    for ours, theirs, least in (
        (POCL, "PoCL's own", 1),
        (POCL, "NumPy, baseline", 1),
        (INTEL, "Intel's own", 0.25),
    ):
        ratios = {name: _ratio(_row(rows, name, ours), _row(rows, name, theirs)) for name in names}
        found = {name: value for name, value in ratios.items() if value is not None}
        worst = min(found, key=lambda name: found[name], default="none")
        behind = sum(value < least for value in found.values())
        note = f"{behind} of {len(found)} functions are further behind than that"
        yield Verdict(f"{worst} beside {theirs}, worst case", found.get(worst), least, " ×", note)
    for name in ("exp", "log", "sin"):
        row = _row(rows, name, "vyre, evaluator")
        rate = row["amount"] / row["median"] / 1e6 if row else None
        yield Verdict(f"evaluator, {name}", rate, 10, " million a second")


# ── handling of programs ─────────────────────────────────────────────────────────────────────────────────────────────


def _handling(rows: Sequence[Record]) -> Iterator[Verdict]:
    statements = [row for row in rows if row["case"] == "statements"]
    made = [row for row in statements if row["peer"] == "vyre"]
    ours = _per_node(made, ("all five",), 100_000) or _per_node(made, STAGES, 100_000)
    yield Verdict(f"{', '.join(STAGES)} of 100 000 nodes", ours, 5, " µs a node", "", is_limit=True)
    for peer in ("MLIR (jaxlib)", "tinygrad", "xDSL"):
        theirs = _per_node([row for row in statements if row["peer"] == peer], STAGES)
        value = theirs / ours if ours and theirs else None
        yield Verdict(f"the same beside {peer}", value, 1, " ×", f"{figure(theirs)} µs a node" if theirs else "")
    lowering = [row for row in statements if row["peer"] == "vyre lowering"]
    small, large = (_per_node(lowering, ("optimize",), size) for size in (10_000, 100_000))
    yield Verdict("optimizer, 10 000 nodes", small, 20, " µs a node", "", is_limit=True)
    growth = large / small if small and large else None
    yield Verdict("optimizer, 100 000 nodes beside 10 000", growth, 1.5, " ×", "a node; 1 is linear", is_limit=True)


def _guards() -> Verdict:
    """Counted, not measured: by the gate."""
    workloads = [found for found in gate.accepted().values() if "nodes" in found]
    needless, left = (
        sum(number for found in workloads for count, number in found.items() if count.endswith(f": {what}"))
        for what in ("needless guards", "guards")
    )
    of = f"{left} guards that are left, in {len(workloads)} kernels as loops and as work items"
    return Verdict("guards that an interval shows to hold", needless, 0, "", of, is_limit=True)


def _per_node(rows: Sequence[Record], stages: Sequence[str], size: int | None = None) -> float | None:
    """µs of all stages together, at this size or at the largest one; None where one was not measured."""
    measured = [row for row in rows if "median" in row]
    size = size or max((row["size"] for row in measured), default=0)
    found = {row["variant"]: row["median"] / row["amount"] * 1e6 for row in measured if row["size"] == size}
    return sum(found[stage] for stage in stages) if found.keys() >= set(stages) else None


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _row(rows: Sequence[Record], case: str, peer: str, variant: str | None = None) -> Record | None:
    """The best row of a peer in a case."""
    return best_of(
        rows,
        lambda row: row["case"] == case and row["peer"] == peer and (variant is None or row["variant"] == variant),
    )


def _ratio(row: Record | None, base: Record | None) -> float | None:
    """How much more work is done in a second."""
    if row is None or base is None:
        return None
    return float(row["amount"] / row["median"] / (base["amount"] / base["median"]))
