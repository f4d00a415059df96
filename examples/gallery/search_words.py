"""Lines of logs that contain any of thousands of words, as `grep -F -w -f words` finds them.

python examples/gallery/search_words.py words.txt server.log
"""

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

import vyre as vy


@vy.func
def is_of_word(c: vy.u8) -> vy.bool_:
    lower = c | 32
    return (lower >= 97 and lower <= 122) or (c >= 48 and c <= 57) or c == 95


@vy.kernel
def matches(
    text: vy.Array[vy.u8, "n"],
    words: vy.Array[vy.u8, "bytes"],
    starts: vy.Array[vy.u32, "words"],
    ends: vy.Array[vy.u32, "words"],
) -> vy.Array[vy.u8, "n"]:
    """Whether one of the words, which are sorted, stands at each byte: a binary search by the word in the text."""
    i = vy.index()
    if not is_of_word(text[i]) or (i > 0 and is_of_word(text[i - 1])):
        return vy.u8(0)
    low, high = vy.u32(0), vy.u32(len(starts))
    while vy.bounded(low < high, 32):
        middle = (low + high) >> 1
        start, length = starts[middle], ends[middle] - starts[middle]
        k = vy.u32(0)
        while vy.bounded(k < length and is_of_word(text[i + k]) and text[i + k] == words[start + k], 1 << 16):
            k += 1
        c = vy.u32(text[i + k]) if is_of_word(text[i + k]) else vy.u32(0)
        if k == length and c == 0:
            return vy.u8(1)
        if k < length and c < vy.u32(words[start + k]):
            high = middle
        else:
            low = middle + 1
    return vy.u8(0)


def lines(text: bytes, words: list[str], backend: str | None = None) -> Iterator[tuple[int, str]]:
    """Number and text of each line with a word; words are of letters, digits and `_` of ASCII."""
    sorted_words = sorted({word.encode("ascii") for word in words if word})
    ends = np.cumsum([len(word) for word in sorted_words], dtype=np.uint32)
    starts = ends - np.array([len(word) for word in sorted_words], np.uint32)
    letters, joined = (np.frombuffer(data, np.uint8) for data in (text, b"".join(sorted_words)))
    found = matches.on(backend)(letters, joined, starts, ends)
    breaks = np.flatnonzero(letters == 10)
    for number in np.unique(np.searchsorted(breaks, np.flatnonzero(found))):
        first = breaks[number - 1] + 1 if number else 0
        last = breaks[number] if number < len(breaks) else len(text)
        yield int(number) + 1, text[first:last].decode("utf-8", "replace")


@click.command(help=__doc__)
@click.argument("words", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(words: Path, files: tuple[Path, ...], backend: str | None) -> None:
    listed = words.read_text("ascii").split()
    for file in files:
        for number, line in lines(file.read_bytes(), listed, backend):
            click.echo(f"{file}:{number}:{line}")


if __name__ == "__main__":
    main()
