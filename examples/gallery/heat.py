"""The heat equation on a square plate whose edges are cold, beside its closed solution.

python examples/gallery/heat.py --steps 2000
python examples/gallery/heat.py --size 150 --output heat.png    # another plate, at four moments
"""

from pathlib import Path

import click
import numpy as np
from PIL import Image

import vyre as vy

SHADES = " .:-=+*#%@"
GLOW = np.array([[0, 0, 0], [110, 15, 70], [235, 95, 35], [255, 240, 170]])
"""The colours of 0, ⅓, ⅔ and 1."""


@vy.kernel(workgroup_size=(16, 16))
def step(rate: vy.f64, t: vy.Array[vy.f64, "h", "w"]) -> vy.Array[vy.f64, "h", "w"]:
    """One explicit step of Euler's; elements beyond the plate are loaded as 0, its cold edge."""
    y, x = vy.index()
    return t[y, x] + rate * (t[y - 1, x] + t[y + 1, x] + t[y, x - 1] + t[y, x + 1] - 4.0 * t[y, x])


def warm_plate(n: int) -> np.ndarray:
    """A half wave along each axis, which keeps its shape while it decays."""
    wave = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
    return np.outer(wave, wave)


def cooled(plate: np.ndarray, rate: float, steps: int, backend: str | None = None) -> np.ndarray:
    """The plate after some steps; it stays on the device between them."""
    t = vy.array(plate, backend=backend)
    for _ in range(steps):
        t = step(rate, t)
    return t.numpy()


def decay(n: int, rate: float, steps: int) -> float:
    """What is left of the half wave: the eigenvalue of a step, to the power of the steps."""
    return float((1 - 8 * rate * np.sin(np.pi / 2 / (n + 1)) ** 2) ** steps)


def coloured(values: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 as bytes of red, green and blue between the colours of `GLOW`."""
    place = np.clip(values, 0, 1) * (len(GLOW) - 1)
    channels = [np.interp(place, np.arange(len(GLOW)), channel) for channel in GLOW.T]
    return np.stack(channels, -1).round().astype(np.uint8)


def hot_tiles(n: int) -> np.ndarray:
    """Square tiles of random temperatures, and cold gaps between them."""
    tiles = np.random.default_rng(5).random((6, 6))
    y, x = np.mgrid[:n, :n] * 6 / n
    return np.where((y % 1 < 0.6) & (x % 1 < 0.6), tiles[y.astype(int), x.astype(int)], 0.0)


def picture(n: int, backend: str | None = None) -> np.ndarray:
    """Four plates side by side: after 0, 20, 100 and 500 steps."""
    plates = [hot_tiles(n)]
    for steps in (20, 80, 400):
        plates.append(cooled(plates[-1], 0.2, steps, backend))
    return coloured(np.hstack(plates))


@click.command(help=__doc__)
@click.option("--size", default=40, show_default=True)
@click.option("--steps", default=500, show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A picture to write: heat.png.")
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(size: int, steps: int, output: Path | None, backend: str | None) -> None:
    if output:
        Image.fromarray(picture(size, backend)).save(output)
        return
    plate = warm_plate(size)
    found, wanted = cooled(plate, 0.2, steps, backend), plate * decay(size, 0.2, steps)
    shades = (found * 9.99).astype(int)[::2]
    click.echo("\n".join("".join(SHADES[shade] for shade in row) for row in shades))
    click.echo(f"after {steps} steps {found.max():.6f} of 1 is left; greatest error {abs(found - wanted).max():.1e}")


if __name__ == "__main__":
    main()
