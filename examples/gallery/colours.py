"""The few colours that describe a picture best, by k-means over its pixels. Pictures are binary PPM files.

python examples/gallery/colours.py --picture photo.ppm --colours 8
"""

import re
from pathlib import Path

import click
import numpy as np

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
    data = file.read_bytes()
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    if head is None:
        raise click.BadParameter(f"{file} is no PPM file of 8 bits. Fix: convert it: `magick photo.jpg photo.ppm`")
    width, height = int(head[1]), int(head[2])
    return np.frombuffer(data, np.uint8, offset=head.end()).reshape(height, width, 3)


def palette(picture: np.ndarray, colours: int, backend: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The colours as rows of bytes, the most frequent first, and how many pixels each stands for."""
    pixels = picture.reshape(-1, 3).astype(np.float32)
    centres, chosen = vy.kmeans(pixels, colours, backend=backend)
    counts = vy.bincount(chosen, minlength=colours, backend=backend)
    order = vy.argsort(-counts, backend=backend)
    return np.rint(centres[order]).astype(np.uint8), counts[order]


@click.command(help=__doc__)
@click.option("--picture", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A PPM file.")
@click.option("--colours", default=6, show_default=True)
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(picture: Path | None, colours: int, backend: str | None) -> None:
    found, counts = palette(read(picture) if picture else sunset(60, 96), colours, backend)
    for (red, green, blue), count in zip(found.tolist(), counts.tolist(), strict=True):
        share = count / counts.sum()
        swatch = click.style(" " * max(1, round(40 * share)), bg=(red, green, blue))
        click.echo(f"#{red:02x}{green:02x}{blue:02x}  {share:6.1%}  {swatch}")


if __name__ == "__main__":
    main()
