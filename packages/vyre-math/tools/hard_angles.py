"""How near the angle of a pair of f32 comes to a middle between two f32: every middle is tried.

    python packages/vyre-math/tools/hard_angles.py            # some minutes; needs a C compiler

An angle is nearest to a middle z where ``y / x`` is nearest to tan z, and the fractions of 24 bits that are nearest to
a number come from its continued fraction. So all middles between 2**-26 and pi, 231 million, tell about all pairs.
Below 2**-26 an angle is its tangent less a third of the cube: see `docs/math.md`. The evidence, `atan2.distance.json`,
has the least distance for each binade, and the pairs that are nearer than `LISTED`.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import gmpy2
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).parent))
from exhaust import origin

BLOCK, FRACTION = 1024, 126
FIRST, LAST = -26, 1
"""The exponents of the binades."""
LISTED = 70
"""Pairs nearer than 2**-70 of the angle are listed."""


class Hard(NamedTuple):
    """A fraction of 24 bits, and how near the angle with that tangent, but for a power of two, comes to the middle `z`:
    log2 of the relative distance."""

    z: float
    p: int
    q: int
    distance: float

    @property
    def pair(self) -> tuple[float, float]:
        """y and x with the angle."""
        slope = math.tan(self.z)
        shift = round(math.log2(self.p / self.q / abs(slope)))
        y, x = self.p * 2.0 ** -max(shift, 0), self.q * 2.0 ** min(shift, 0)
        return y, math.copysign(x, slope)


def arguments(exponent: int, blocks: range) -> Iterator[bytes]:
    """What the C program reads of some blocks of a binade."""
    with gmpy2.context(precision=200):
        unit = gmpy2.exp2(exponent - 24)
        yield b"".join(n.to_bytes(4, "little", signed=True) for n in (exponent, len(blocks)))
        yield b"".join(_turn(2 * i * unit) for i in range(BLOCK))
        for block in blocks:
            first = 2**24 + 1 + 2 * BLOCK * block
            yield first.to_bytes(16, "little") + _turn(first * unit)


def _turn(z: Any) -> bytes:
    """Sine and cosine as the C program has them."""
    scaled = (gmpy2.rint(x * gmpy2.exp2(FRACTION)) for x in (gmpy2.sin(z), gmpy2.cos(z)))
    return b"".join(int(x).to_bytes(16, "little", signed=True) for x in scaled)


def blocks_of(exponent: int) -> range:
    """The blocks of a binade, or as many as begin before pi."""
    most = 2**25 if exponent < LAST else int(gmpy2.const_pi() * 2**23)
    return range(-(-(most - 2**24) // (2 * BLOCK)))


def build(folder: Path) -> Path:
    program = folder / "hard_angles"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["cc", "-O2", "-o", program, source, "-lm"], check=True)
    return program


def searched(program: Path, exponent: int, blocks: range, listed: int) -> tuple[int, float, list[Hard]]:
    """How many middles these blocks have, log2 of the least distance, and the fractions that are nearer than listed."""
    text = b"".join(arguments(exponent, blocks))
    run = subprocess.run([program, str(listed)], input=text, capture_output=True, check=True)
    *found, (_, middles, least) = (line.split() for line in run.stdout.decode().splitlines())
    hard = [Hard(int(n) * 2.0 ** (exponent - 24), int(p), int(q), float(distance)) for _, n, p, q, distance in found]
    return int(middles), float(least), hard


@click.command(help=__doc__)
@click.option("--evidence", type=click.Path(path_type=Path), default=Path("evidence/math"), show_default=True)
def main(evidence: Path) -> None:
    middles, least, hard = 0, dict[int, float](), list[Hard]()
    with TemporaryDirectory() as folder, Progress() as progress:
        program = build(Path(folder))
        for exponent in progress.track(range(FIRST, LAST + 1)):
            count, least[exponent], found = searched(program, exponent, blocks_of(exponent), LISTED)
            middles += count
            hard += found
    record = {
        "function": "math.atan2",
        "middles": middles,
        "least": min(least.values()),
        "least_of_binade": least,
        "hard": [(one.z.hex(), one.p, one.q, one.distance) for one in sorted(hard, key=lambda one: one.distance)],
    }
    (evidence / "atan2.distance.json").write_text(json.dumps(record | origin(), indent=2) + "\n")
    click.echo(f"{middles:,} middles; the nearest angle is 2**{record['least']} of its value away")


if __name__ == "__main__":
    main()
