"""Bodies that attract each other, and the energy that they keep.

python examples/gallery/nbody.py --bodies 256 --steps 100
python examples/gallery/nbody.py --bodies 300 --steps 400 --output nbody.png    # their paths
"""

from pathlib import Path

import click
import numpy as np
from PIL import Image

import vyre as vy

SOFT = 0.01
"""Added to squared distances, so that no force is infinite."""


@vy.kernel
def accelerations(
    x: vy.Array[vy.f64, "n"], y: vy.Array[vy.f64, "n"], mass: vy.Array[vy.f64, "n"]
) -> tuple[vy.Array[vy.f64, "n"], vy.Array[vy.f64, "n"]]:
    """Of each body by all others, in the order of their numbers."""
    i = vy.index()
    ax, ay = vy.f64(0), vy.f64(0)
    for j in range(len(x)):
        dx, dy = x[j] - x[i], y[j] - y[i]
        squared = dx * dx + dy * dy + SOFT
        pull = mass[j] / (squared * vy.sqrt(squared))
        ax += pull * dx
        ay += pull * dy
    return ax, ay


@vy.kernel
def moved(by: vy.f64, x: vy.Array[vy.f64, "n"], v: vy.Array[vy.f64, "n"]) -> vy.Array[vy.f64, "n"]:
    i = vy.index()
    return x[i] + by * v[i]


def simulate(bodies: np.ndarray, dt: float, steps: int, backend: str | None = None) -> np.ndarray:
    """Rows x, y, vx, vy and mass after some leapfrog steps; all stay on the device between them."""
    x, y, vx, vy_, mass = (vy.array(row.copy(), backend=backend) for row in bodies)
    ax, ay = accelerations(x, y, mass)
    for _ in range(steps):
        vx, vy_ = moved(dt / 2, vx, ax), moved(dt / 2, vy_, ay)
        x, y = moved(dt, x, vx), moved(dt, y, vy_)
        ax, ay = accelerations(x, y, mass)
        vx, vy_ = moved(dt / 2, vx, ax), moved(dt / 2, vy_, ay)
    return np.array([row.numpy() for row in (x, y, vx, vy_, mass)])


def energy(bodies: np.ndarray) -> float:
    """That of the motion and of the attraction."""
    x, y, vx, vy_, mass = bodies
    distances = np.sqrt((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2 + SOFT)
    pairs = np.triu(mass[:, None] * mass / distances, 1)
    return float((mass * (vx**2 + vy_**2)).sum() / 2 - pairs.sum())


def cluster(n: int) -> np.ndarray:
    """Bodies that turn about their centre."""
    rng = np.random.default_rng(11)
    x, y = rng.standard_normal((2, n))
    return np.array([x, y, -y / 2, x / 2, np.full(n, 1 / n)])


def picture(bodies: np.ndarray, steps: int, backend: str | None = None) -> np.ndarray:
    """The paths of bodies as grey pixels: brighter where bodies pass more often, or slower."""
    passed = np.zeros((360, 640))
    for _ in range(steps):
        bodies = simulate(bodies, 0.01, 1, backend)
        x, y = np.rint(bodies[0] * 100 + 320).astype(int), np.rint(bodies[1] * 100 + 180).astype(int)
        seen = (x >= 0) & (x < 640) & (y >= 0) & (y < 360)
        np.add.at(passed, (y[seen], x[seen]), 1)
    return np.minimum(passed * 40, 255).astype(np.uint8)


@click.command(help=__doc__)
@click.option("--bodies", default=128, show_default=True)
@click.option("--steps", default=100, show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A picture to write: nbody.png.")
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(bodies: int, steps: int, output: Path | None, backend: str | None) -> None:
    start = cluster(bodies)
    if output:
        Image.fromarray(picture(start, steps, backend)).save(output)
        return
    end = simulate(start, 0.01, steps, backend)
    canvas = np.full((24, 64), " ")
    columns, rows = np.clip(end[0] * 12 + 32, 0, 63).astype(int), np.clip(end[1] * 5 + 12, 0, 23).astype(int)
    canvas[rows, columns] = "*"
    click.echo("\n".join("".join(row) for row in canvas))
    click.echo(f"energy at the start {energy(start):.9f}, after {steps} steps {energy(end):.9f}")


if __name__ == "__main__":
    main()
