"""Blur, edges and posterised grey of a picture, each as one kernel.

python examples/gallery/image_filters.py --picture photo.jpg --filter edges
python examples/gallery/image_filters.py --output image_filters.png    # the picture, and what each filter makes of it
"""

from pathlib import Path

import click
import numpy as np
from PIL import Image

import vyre as vy

SHADES = " .:-=+*#%@"
WEIGHTS = (1, 4, 6, 4, 1)
"""Of the blur along each axis: a row of Pascal's triangle."""


@vy.func
def at(grey: vy.Array[vy.u8, "h", "w"], y: vy.i32, x: vy.i32) -> vy.i32:
    """The pixel at a place, or the nearest one of the border."""
    h, w = vy.i32(grey.shape[0]), vy.i32(grey.shape[1])
    return vy.i32(grey[vy.max(vy.min(y, h - 1), 0), vy.max(vy.min(x, w - 1), 0)])


@vy.kernel(workgroup_size=(16, 16))
def blur(grey: vy.Array[vy.u8, "h", "w"]) -> vy.Array[vy.u8, "h", "w"]:
    y, x = (i.cast(vy.i32) for i in vy.index())
    total = sum(a * b * at(grey, y + j - 2, x + i - 2) for j, a in enumerate(WEIGHTS) for i, b in enumerate(WEIGHTS))
    return vy.u8((total + 128) >> 8)


@vy.kernel(workgroup_size=(16, 16))
def edges(grey: vy.Array[vy.u8, "h", "w"]) -> vy.Array[vy.u8, "h", "w"]:
    """The length of Sobel's gradient, at most 255."""
    y, x = (i.cast(vy.i32) for i in vy.index())
    across = sum(w * (at(grey, y + d, x + 1) - at(grey, y + d, x - 1)) for d, w in ((-1, 1), (0, 2), (1, 1)))
    down = sum(w * (at(grey, y + 1, x + d) - at(grey, y - 1, x + d)) for d, w in ((-1, 1), (0, 2), (1, 1)))
    length = vy.sqrt(vy.f32(across * across + down * down))
    return vy.u8(vy.min(length, vy.f32(255)))


@vy.kernel(workgroup_size=(16, 16))
def posterise(grey: vy.Array[vy.u8, "h", "w"]) -> vy.Array[vy.u8, "h", "w"]:
    """Four levels of grey."""
    y, x = vy.index()
    return (grey[y, x] >> 6) * 85


FILTERS = {"blur": blur, "edges": edges, "posterise": posterise}


def disc(height: int, width: int) -> np.ndarray:
    """A picture of its own: a shaded ball before a dark ground."""
    y, x = np.mgrid[-1 : 1 : height * 1j, -1.5 : 1.5 : width * 1j]
    ball = np.sqrt(np.maximum(0.6 - x**2 - y**2, 0)) * (1 - x / 2 - y / 2)
    light: np.ndarray = np.clip(ball * 200 + 20, 0, 255)
    return light.astype(np.uint8)


def read(file: Path) -> np.ndarray:
    """The grey of a picture as (height, width) bytes."""
    return np.asarray(Image.open(file).convert("L"))


@click.command(help=__doc__)
@click.option("--picture", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A picture.")
@click.option("--filter", "name", type=click.Choice(list(FILTERS)), default="edges", show_default=True)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="A picture to write: image_filters.png."
)
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(picture: Path | None, name: str, output: Path | None, backend: str | None) -> None:
    if output:
        grey = read(picture) if picture else disc(180, 270)
        filtered = [kernel.on(backend)(grey) for kernel in FILTERS.values()]
        Image.fromarray(np.hstack([grey, *filtered])).save(output)
    else:
        found = FILTERS[name].on(backend)(read(picture) if picture else disc(32, 96))
        click.echo("\n".join("".join(SHADES[shade] for shade in row) for row in found.astype(int) * 10 // 256))


if __name__ == "__main__":
    main()
