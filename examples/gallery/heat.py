"""The heat equation on a square plate whose edges are cold, beside its closed solution.

python examples/gallery/heat.py --steps 2000
"""

import click
import numpy as np

import vyre as vy

SHADES = " .:-=+*#%@"


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


@click.command(help=__doc__)
@click.option("--size", default=40, show_default=True)
@click.option("--steps", default=500, show_default=True)
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(size: int, steps: int, backend: str | None) -> None:
    plate = warm_plate(size)
    found, wanted = cooled(plate, 0.2, steps, backend), plate * decay(size, 0.2, steps)
    shades = (found * 9.99).astype(int)[::2]
    click.echo("\n".join("".join(SHADES[shade] for shade in row) for row in shades))
    click.echo(f"after {steps} steps {found.max():.6f} of 1 is left; greatest error {abs(found - wanted).max():.1e}")


if __name__ == "__main__":
    main()
