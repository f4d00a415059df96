"""The few colours that describe a picture best, by k-means over its pixels.

python examples/gallery/colours.py --picture photo.jpg --colours 8
python examples/gallery/colours.py --output colours.png    # the picture, and the same in these colours
"""

from pathlib import Path

import click
import numpy as np
from PIL import Image

import vyre as vy


def sunset(height: int, width: int) -> np.ndarray:
    """A picture of its own: sky, sea and sun, as (height, width, 3) bytes."""
    y, x = np.mgrid[:height, :width] / (height, width)[0]
    sky = np.stack([255 - 60 * y, 120 + 60 * y, 80 + 90 * y], -1)
    sea = np.stack([30 + 20 * np.sin(40 * y), 60 + 30 * y, 110 + 40 * y], -1)
    picture = np.where(y[..., None] < 0.6, sky, sea)
    picture[(y - 0.55) ** 2 + (x - 0.8) ** 2 < 0.02] = (255, 230, 120)
    return picture.astype(np.uint8)


def read(file: Path) -> np.ndarray:
    """The pixels of a picture as (height, width, 3) bytes."""
    return np.asarray(Image.open(file).convert("RGB"))


def palette(picture: np.ndarray, colours: int, backend: str | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The colours as rows of bytes, the most frequent first; their counts of pixels; and the picture in them."""
    pixels = picture.reshape(-1, 3).astype(np.float32)
    centres, chosen = vy.kmeans(pixels, colours, backend=backend)
    counts = vy.bincount(chosen, minlength=colours, backend=backend)
    order = vy.argsort(-counts, backend=backend)
    found = np.rint(centres).astype(np.uint8)
    return found[order], counts[order], found[chosen].reshape(picture.shape)


@click.command(help=__doc__)
@click.option("--picture", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A picture.")
@click.option("--colours", default=6, show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A picture to write: colours.png.")
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(picture: Path | None, colours: int, output: Path | None, backend: str | None) -> None:
    pixels = read(picture) if picture else sunset(200, 320)
    found, counts, redrawn = palette(pixels, colours, backend)
    if output:
        Image.fromarray(np.hstack([pixels, redrawn])).save(output)
    for (red, green, blue), count in zip(found.tolist(), counts.tolist(), strict=True):
        share = count / counts.sum()
        swatch = click.style(" " * max(1, round(40 * share)), bg=(red, green, blue))
        click.echo(f"#{red:02x}{green:02x}{blue:02x}  {share:6.1%}  {swatch}")


if __name__ == "__main__":
    main()
