"""Files with equal contents below a folder, and what they waste.

python examples/gallery/duplicates.py ~/Pictures
"""

from collections import defaultdict
from pathlib import Path

import click

import vyre as vy


def duplicates(folder: Path, backend: str | None = None) -> list[list[Path]]:
    """Groups of two or more equal files. Only files of a size that occurs twice are read."""
    by_size: defaultdict[int, list[Path]] = defaultdict(list)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink():
            by_size[file.stat().st_size].append(file)
    groups = []
    for files in by_size.values():
        if len(files) > 1:
            by_digest: defaultdict[bytes, list[Path]] = defaultdict(list)
            rows = vy.sha256([file.read_bytes() for file in files], backend=backend)
            for file, row in zip(files, rows, strict=True):
                by_digest[row.tobytes()].append(file)
            groups += [equal for equal in by_digest.values() if len(equal) > 1]
    return groups


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(folder: Path, backend: str | None) -> None:
    groups = duplicates(folder, backend)
    for equal in groups:
        click.echo(f"{equal[0].stat().st_size} bytes:")
        for file in equal:
            click.echo(f"  {file}")
    wasted = sum(equal[0].stat().st_size * (len(equal) - 1) for equal in groups)
    click.echo(f"{len(groups)} groups; {wasted} bytes could be saved")


if __name__ == "__main__":
    main()
