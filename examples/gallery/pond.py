"""Two drops in a pond: the wave equation, which keeps its energy.

python examples/gallery/pond.py --steps 120
python examples/gallery/pond.py --size 320 --steps 160 --output pond.png
"""

from pathlib import Path

import click
import numpy as np
from PIL import Image

import vyre as vy

SHADES = "@%#*+=-:. .:-=+*#%@"


@vy.kernel(workgroup_size=(16, 16))
def step(
    speed: vy.f64, now: vy.Array[vy.f64, "h", "w"], before: vy.Array[vy.f64, "h", "w"]
) -> vy.Array[vy.f64, "h", "w"]:
    """The leapfrog step; `speed` is (c Δt / Δx)². The edge of the pond is held at 0."""
    y, x = vy.index()
    bend = now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1] - 4.0 * now[y, x]
    return 2.0 * now[y, x] - before[y, x] + speed * bend


def pond(n: int) -> np.ndarray:
    """Two drops in still water."""
    y, x = np.mgrid[:n, :n] / n
    drops = [(0.3, 0.35, 1.0), (0.6, 0.7, -0.8)]
    water: np.ndarray = sum(height * np.exp(-((y - a) ** 2 + (x - b) ** 2) * 150) for a, b, height in drops)
    return water


def waves(start: np.ndarray, speed: float, steps: int, backend: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The last two heights of the water; both stay on the device between steps."""
    now = before = vy.array(start, backend=backend)
    for _ in range(steps):
        now, before = step(speed, now, before), now
    return now.numpy(), before.numpy()


def energy(now: np.ndarray, before: np.ndarray, speed: float) -> float:
    """What the leapfrog step keeps: the energy of the motion, and that of the bends between two moments."""
    motion = ((now - before) ** 2).sum()
    slopes = [np.diff(np.pad(height, 1), axis=axis) for axis in (0, 1) for height in (now, before)]
    return float(motion + speed * ((slopes[0] * slopes[1]).sum() + (slopes[2] * slopes[3]).sum()))


def picture(water: np.ndarray) -> np.ndarray:
    """Bytes of red, green and blue: valleys are dark, ridges are bright."""
    height = np.clip(water * 4 + 0.5, 0, 1)[..., None]
    return (height * (225, 235, 225) + (15, 20, 30)).round().astype(np.uint8)


@click.command(help=__doc__)
@click.option("--size", default=60, show_default=True)
@click.option("--steps", default=60, show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A picture to write: pond.png.")
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(size: int, steps: int, output: Path | None, backend: str | None) -> None:
    start = pond(size)
    now, before = waves(start, 0.25, steps, backend)
    if output:
        Image.fromarray(picture(now)).save(output)
    else:
        shades = np.clip(now * 30 + 9.5, 0, 18).astype(int)[::2]
        click.echo("\n".join("".join(SHADES[shade] for shade in row) for row in shades))
    first, last = energy(start, start, 0.25), energy(now, before, 0.25)
    click.echo(f"energy at the start {first:.12f}, after {steps} steps {last:.12f}")


if __name__ == "__main__":
    main()
