"""SHA-256 of all files in a folder, in the form of `sha256sum`, one message for each invocation.

python examples/gallery/hash_folder.py docs > sums && sha256sum --check sums
"""

from collections.abc import Iterator
from pathlib import Path

import click

import vyre as vy

BATCH = 64 << 20
"""Bytes that are hashed at once."""


def batches(files: list[Path]) -> Iterator[list[Path]]:
    """Files of similar sizes together: the longest message of a batch decides how long it takes."""
    batch: list[Path] = []
    held = 0
    for file in sorted(files, key=lambda file: file.stat().st_size):
        size = file.stat().st_size
        if batch and held + size > BATCH:
            yield batch
            batch, held = [], 0
        batch.append(file)
        held += size
    if batch:
        yield batch


def digests(folder: Path, backend: str | None = None) -> dict[Path, str]:
    """The digest of each regular file below `folder`, in hexadecimal."""
    found: dict[Path, str] = {}
    for batch in batches([file for file in folder.rglob("*") if file.is_file()]):
        rows = vy.sha256([file.read_bytes() for file in batch], backend=backend)
        found |= {file: row.tobytes().hex() for file, row in zip(batch, rows, strict=True)}
    return found


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(folder: Path, backend: str | None) -> None:
    for file, digest in sorted(digests(folder, backend).items()):
        click.echo(f"{digest}  {file}")


if __name__ == "__main__":
    main()
