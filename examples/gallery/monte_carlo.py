"""π by random points: the same points, so the same digits, on every machine.

python examples/gallery/monte_carlo.py --points 10000000
"""

import click
import numpy as np

import vyre as vy


@vy.kernel(shape="n")
def is_inside(words: vy.Array[vy.u32, "n", 2], hits: vy.Out[vy.u8, "n"]) -> None:
    """Whether the point of two words lies in the circle about the origin."""
    i = vy.index()
    x, y = vy.u64(words[i, 0]), vy.u64(words[i, 1])
    squared = (x * x >> 1) + (y * y >> 1)
    hits[i] = 1 if squared < 1 << 63 else 0


def estimate(points: int, key: int = 1, backend: str | None = None) -> tuple[int, float]:
    """How many of the points are inside, and four times their share."""
    words = vy.philox(key, 2 * points, backend=backend).reshape(points, 2)
    inside = int(vy.sum(is_inside.on(backend)(words), backend=backend))
    return inside, 4 * inside / points


@click.command(help=__doc__)
@click.option("--points", default=1_000_000, show_default=True)
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(points: int, backend: str | None) -> None:
    inside, pi = estimate(points, backend=backend)
    deviation = 4 * np.sqrt(np.pi / 4 * (1 - np.pi / 4) / points)
    off = (pi - np.pi) / deviation
    click.echo(f"{inside} of {points} points inside: π ≈ {pi:.6f}, {off:+.2f} standard deviations off")


if __name__ == "__main__":
    main()
