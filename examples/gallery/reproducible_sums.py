"""One sum in several libraries and orders: which bits depend on them, and which do not.

python examples/gallery/reproducible_sums.py --size 1000000
"""

import math

import click
import numpy as np

import vyre as vy


def values(n: int) -> np.ndarray:
    """Floats of very different sizes, half of which nearly cancel the others."""
    rng = np.random.default_rng(3)
    large = rng.standard_normal(n // 2) * 10.0 ** rng.integers(-8, 8, n // 2)
    return rng.permutation(np.concatenate([large, -large + rng.standard_normal(n // 2)])).astype(np.float32)


def sums(x: np.ndarray, backends: tuple[str, ...]) -> dict[str, float]:
    """The sum by several ways."""
    return {
        "a loop in f32": float(np.add.accumulate(x)[-1]),
        "a loop backwards": float(np.add.accumulate(x[::-1])[-1]),
        "NumPy": float(x.sum()),
        "NumPy, in 4 parts": float(np.float32(sum(part.sum() for part in np.split(x, 4)))),
        **{f"vyre, {backend}": float(vy.sum(x, backend=backend)) for backend in backends},
        **{f"vyre, correctly rounded, {backend}": float(vy.exact_sum(x, backend=backend)) for backend in backends},
        "math.fsum, rounded to f32": float(np.float32(math.fsum(x.tolist()))),
    }


@click.command(help=__doc__)
@click.option("--size", default=100_000, show_default=True)
@click.option("--backend", multiple=True, default=("cpu", "reference"), help="Ids that `vyre backends` lists.")
def main(size: int, backend: tuple[str, ...]) -> None:
    for name, total in sums(values(size // 8 * 8), backend).items():
        click.echo(f"{total:>18.9g}  {name}")


if __name__ == "__main__":
    main()
