"""Game of Life on a torus, animated in the terminal or as a picture.

python examples/gallery/life.py --generations 200
python examples/gallery/life.py --generations 40 --output life.gif
"""

import time
from pathlib import Path

import click
import numpy as np
from PIL import Image

import vyre as vy


@vy.kernel(workgroup_size=(16, 16))
def generation(cells: vy.Array[vy.u8, "h", "w"]) -> vy.Array[vy.u8, "h", "w"]:
    y, x = vy.index()
    h, w = cells.shape
    rows, columns = ((y + h - 1) % h, y, (y + 1) % h), ((x + w - 1) % w, x, (x + 1) % w)
    neighbours = sum(cells[j, i] for j in rows for i in columns) - cells[y, x]
    return vy.u8(1) if neighbours == 3 or (neighbours == 2 and cells[y, x] == 1) else vy.u8(0)


def evolve(cells: np.ndarray, generations: int, backend: str | None = None) -> np.ndarray:
    """The cells after some generations; they stay on the device between them."""
    world = vy.array(cells, backend=backend)
    for _ in range(generations):
        world = generation(world)
    return world.numpy()


def picture(cells: np.ndarray) -> str:
    """Two rows of cells in each line of text."""
    upper, lower = cells[::2], np.vstack([cells[1::2], np.zeros_like(cells[: len(cells) % 2])])
    return "\n".join("".join(" ▀▄█"[pair] for pair in row) for row in upper + 2 * lower)


def save(cells: np.ndarray, generations: int, file: Path, backend: str | None = None) -> None:
    """Write an animation: a frame for each generation, squares of 5 pixels for cells."""
    frames = []
    for _ in range(generations):
        frames.append(Image.fromarray(((1 - cells) * 255).repeat(5, 0).repeat(5, 1)).convert("1"))
        cells = evolve(cells, 1, backend)
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=80, loop=0)


@click.command(help=__doc__)
@click.option("--generations", default=100, show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A picture to write: life.gif.")
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(generations: int, output: Path | None, backend: str | None) -> None:
    cells = (np.random.default_rng(7).random((48, 96)) < 0.3).astype(np.uint8)
    if output:
        save(cells, generations, output, backend)
        return
    for _ in range(generations):
        cells = evolve(cells, 1, backend)
        click.echo(f"\x1b[H\x1b[2J{picture(cells)}")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
