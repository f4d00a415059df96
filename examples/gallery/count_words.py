"""The most frequent words of texts: words are found, hashed, sorted and counted on the device.

python examples/gallery/count_words.py README.md docs/*.md
"""

from pathlib import Path

import click
import numpy as np

import vyre as vy

LONGEST = 64
"""Of a longer word the first bytes count."""


@vy.func
def is_letter(c: vy.u8) -> vy.bool_:
    lower = c | 32
    return (lower >= 97 and lower <= 122) or c >= 128


@vy.kernel
def begins(text: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
    """Whether a word begins at each byte: a letter behind something else. Bytes from 128 on are parts of letters."""
    i = vy.index()
    return vy.u8(1) if is_letter(text[i]) and not (i > 0 and is_letter(text[i - 1])) else vy.u8(0)


@vy.kernel
def hashes(text: vy.Array[vy.u8, "n"], starts: vy.Array[vy.u32, "words"]) -> vy.Array[vy.u64, "words"]:
    """FNV-1a of each word, in lower case."""
    at = starts[vy.index()]
    code = vy.u64(0xCBF29CE484222325)
    for k in range(LONGEST):
        c = text[at + k]
        if not is_letter(c):
            break
        lower = c if c >= 128 else c | 32
        code = (code ^ vy.u64(lower)) * 0x100000001B3
    return code


def words(data: bytes, most: int, backend: str | None = None) -> list[tuple[str, int]]:
    """The most frequent words and how often each occurs; equally frequent ones in the order of their first place."""
    text = np.frombuffer(data, np.uint8)
    marks = begins.on(backend)(text).astype(bool)
    starts = vy.compact(np.arange(text.size, dtype=np.uint32), marks, backend=backend)
    found = vy.unique_all(hashes.on(backend)(text, starts), backend=backend)
    order = np.lexsort((found.indices, -found.counts))[:most]
    return [(_word(data, int(starts[found.indices[n]])), int(found.counts[n])) for n in order]


def _word(data: bytes, start: int) -> str:
    end = start
    while end < min(len(data), start + LONGEST) and (chr(data[end] | 32).isalpha() or data[end] >= 128):
        end += 1
    return data[start:end].decode("utf-8", "replace").lower()


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--most", default=20, show_default=True)
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(files: tuple[Path, ...], most: int, backend: str | None) -> None:
    for word, count in words(b"\n".join(file.read_bytes() for file in files), most, backend):
        click.echo(f"{count:8}  {word}")


if __name__ == "__main__":
    main()
