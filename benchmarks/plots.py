"""Two plots of the kernels: where they stand under the roofs of the machine, and beside the best peer.

On a ground that is not painted, in colours that can be read on white and on black.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from records import FIGURES, Measured, Record, best_of
from report import figure
from workloads import WORKLOADS

OURS, INTEL = "vyre, CPU", "vyre, Intel"
BLUE, ORANGE, GREY = "#3b82f6", "#ea7317", "#808080"
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
STYLE = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "vyre",
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


def write(kernels: Measured, folder: Path = FIGURES) -> None:
    """`roofline.svg` and `ratios.svg`; nothing where matplotlib is not installed or nothing was measured."""
    try:
        import matplotlib as mpl
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        print("no plots: matplotlib is not installed. Fix: pip install matplotlib")
        return
    if not kernels.rows:
        return
    mpl.use("svg")
    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        for name, draw in (("roofline", _roofline), ("ratios", _ratios)):
            drawn, axes = plt.subplots(figsize=(9, 6.4))
            draw(axes, kernels.rows)
            drawn.savefig(folder / f"{name}.svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
            plt.close(drawn)


def _roofline(axes: Any, rows: Sequence[Record]) -> None:
    copied = best_of(rows, lambda row: row["case"] == "copy")
    multiplied = best_of(rows, lambda row: row["case"] == "blocked matmul")
    bandwidth, peak = (_rate(row) if row else 1.0 for row in (copied, multiplied))
    ridge, ends = peak / bandwidth, (0.05, 20000)
    axes.plot([ends[0], ridge, ends[1]], [ends[0] * bandwidth, peak, peak], color=GREY, linewidth=1)
    axes.text(1.2, 1.4 * bandwidth, f"memory: {figure(bandwidth)} GB/s", ha="right", fontsize=9)
    axes.text(ends[1], peak * 1.12, f"sums of products: {figure(peak)} Gop/s", ha="right", fontsize=9)
    for case in WORKLOADS:
        ours, peer = _best(rows, case, _is_ours), _best(rows, case, _is_other)
        if ours is None or peer is None or not ours["operations"]:
            continue
        intensity, scale = ours["operations"] / ours["bytes"], ours["operations"] / ours["amount"]
        here, there = _rate(ours) * scale, _rate(peer) * scale
        axes.plot([intensity, intensity], sorted((here, there)), color=GREY, linewidth=0.8, zorder=1)
        axes.scatter(intensity, there, s=34, edgecolors=ORANGE, facecolors="none", zorder=2)
        axes.scatter(intensity, here, s=34, color=BLUE, zorder=3)
        axes.annotate(case, (intensity, here), (5, -3), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", yscale="log", xlim=ends, xlabel="operations for each byte", ylabel="Gop/s")
    axes.scatter([], [], s=34, color=BLUE, label="vyre, CPU")
    axes.scatter([], [], s=34, edgecolors=ORANGE, facecolors="none", label="best peer")
    axes.legend(frameon=False, loc="lower right")


def _ratios(axes: Any, rows: Sequence[Record]) -> None:
    cases = [case for case in WORKLOADS if any(row["case"] == case and "median" in row for row in rows)]
    for place, case in enumerate(reversed(cases)):
        peer = _best(rows, case, _is_other)
        for ours, filled, marker in (
            (_best(rows, case, _is_ours), BLUE, "o"),
            (_best(rows, case, _is_intel), "none", "D"),
        ):
            if ours is not None and peer is not None:
                ratio = _rate(ours) / _rate(peer)
                axes.scatter(ratio, place, s=40, marker=marker, edgecolors=BLUE, facecolors=filled, zorder=2)
        name, beside = peer["peer"] if peer else "", axes.get_yaxis_transform()
        axes.text(1.01, place, name, transform=beside, va="center", fontsize=8)
    axes.axvline(1, color=GREY, linewidth=1)
    axes.set(xscale="log", xlabel="work a second beside the best peer, which is named on the right")
    axes.set_yticks(range(len(cases)), list(reversed(cases)))
    axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)
    axes.set_xticks(TICKS, list(map(str, TICKS)))
    axes.minorticks_off()
    axes.scatter([], [], s=40, color=BLUE, label="vyre, CPU")
    axes.scatter([], [], s=40, marker="D", edgecolors=BLUE, facecolors="none", label="vyre on Intel's runtime")
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)


def _best(rows: Sequence[Record], case: str, wanted: Callable[[Record], bool]) -> Record | None:
    return best_of(rows, lambda row: row["case"] == case and wanted(row))


def _is_ours(row: Record) -> bool:
    return bool((row["peer"], row["variant"]) == (OURS, "kernel"))


def _is_intel(row: Record) -> bool:
    return bool((row["peer"], row["variant"]) == (INTEL, "kernel"))


def _is_other(row: Record) -> bool:
    return not row["peer"].startswith("vyre")


def _rate(row: Record) -> float:
    """Work in a second, in 1e9."""
    return float(row["amount"] / row["median"] / 1e9)
