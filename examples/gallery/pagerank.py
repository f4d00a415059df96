"""PageRank of the links between the pages of a folder of Markdown.

python examples/gallery/pagerank.py docs
"""

import re
from pathlib import Path

import click
import numpy as np

import vyre as vy

DAMPING = 0.85


def links(folder: Path) -> tuple[list[str], np.ndarray]:
    """The pages, and rows (from, to) of their numbers."""
    pages = {page.name: page for page in sorted(folder.glob("*.md"))}
    numbers = {name: n for n, name in enumerate(pages)}
    pairs = {
        (numbers[name], numbers[target])
        for name, page in pages.items()
        for target in re.findall(r"\]\((\w[\w-]*\.md)", page.read_text("utf-8"))
        if target in numbers and target != name
    }
    return list(pages), np.array(sorted(pairs), np.int64).reshape(-1, 2)


def ranks(n: int, pairs: np.ndarray, backend: str | None = None, tolerance: float = 1e-12) -> tuple[np.ndarray, int]:
    """The rank of each page, and how many rounds it took. A page without links counts as linked to all."""
    sources, targets = pairs.T
    out = vy.bincount(sources, minlength=n, backend=backend)
    values, columns, starts = vy.csr(targets, sources, 1.0 / out[sources], n, backend=backend)
    rank, rounds, change = np.full(n, 1 / n), 0, 1.0
    while change > tolerance:
        lost = vy.sum(rank[out == 0], backend=backend)
        new = DAMPING * (vy.spmv(values, columns, starts, rank, backend=backend) + lost / n) + (1 - DAMPING) / n
        rank, rounds, change = new, rounds + 1, float(vy.sum(np.abs(new - rank), backend=backend))
    return rank, rounds


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(folder: Path, backend: str | None) -> None:
    pages, pairs = links(folder)
    rank, rounds = ranks(len(pages), pairs, backend)
    for n in vy.argsort(-rank, backend=backend)[:10]:
        click.echo(f"{rank[n]:.4f}  {pages[n]}")
    click.echo(f"{len(pages)} pages, {len(pairs)} links, {rounds} rounds")


if __name__ == "__main__":
    main()
