"""Runs functions over a sample of arguments on several backends and compares their digests: evidence for those that are
too slow for every argument, as the evaluator that takes one invocation at a time.

    python packages/vyre-math/tools/sampled.py --beside opencl-intel all          # or names: exp pow

Functions of one f32 get patterns of bits at equal distances, those of two the pairs of `pairs_of.py`. What each
function gave is written to `sample.json` beside the other evidence when it is done; those of an earlier run stay there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from blake3 import blake3

sys.path.insert(0, str(Path(__file__).parent))
import exhaust
import pairs_of
from oracle import F32, NUMPY, right

from vyre_driver import acquire
from vyre_foundation import Program

BACKENDS = ("reference-scalar", "reference", "opencl")
STEP = 2**16 + 1
"""From one pattern to the next: all digits of the lower half come by."""
PAIRS = 2**11
"""Of each kind."""


def sample(name: str) -> tuple[Program, tuple[F32, ...]]:
    """The program and its arguments."""
    if name in NUMPY:
        return exhaust.kernel(name), (np.arange(0, 2**32, STEP, dtype=np.uint64).astype(np.uint32).view(np.float32),)
    random = np.random.default_rng(3)
    drawn = [kind(random, PAIRS) for kind in pairs_of.BINARY[name].kinds]
    return pairs_of.kernel(name), tuple(np.concatenate(parts) for parts in zip(*drawn, strict=True))


def right_bits(name: str, operands: tuple[F32, ...]) -> Any:
    """What is right for the arguments."""
    if name in NUMPY:
        return right(name, *operands).bits
    return pairs_of.right(name, pairs_of.Pairs(*operands)).bits


@click.command(help=__doc__)
@click.argument("names", nargs=-1, required=True)
@click.option("--beside", metavar="ID", multiple=True, help=f"A backend beside {', '.join(BACKENDS)}.")
@click.option("--evidence", type=click.Path(path_type=Path), default=Path("evidence/math"), show_default=True)
def main(names: tuple[str, ...], beside: tuple[str, ...], evidence: Path) -> None:
    path = evidence / "sample.json"
    records: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    wrong = []
    for name in (*NUMPY, *pairs_of.BINARY) if names == ("all",) else names:
        program, operands = sample(name)
        bits = right_bits(name, operands)
        found = {backend: acquire(backend).dispatch(program, operands)[0] for backend in (*BACKENDS, *beside)}
        mismatches = {id: int((np.frombuffer(out, np.uint32) != bits).sum()) for id, out in found.items()}
        digests = {id: blake3(bytes(out)).hexdigest() for id, out in found.items()}
        record = {"arguments": operands[0].size, "mismatches": mismatches, "digests": digests}
        records[name] = record | exhaust.provenance("opencl", acquire("opencl").device_profile().identity)
        path.write_text(json.dumps(records, indent=2) + "\n")
        is_right = not any(mismatches.values()) and len(set(digests.values())) == 1
        click.echo(f"{name}: {'right' if is_right else 'WRONG'}")
        wrong += [] if is_right else [name]
    if wrong:
        raise click.ClickException(f"wrong bits: {', '.join(wrong)}. Fix: see the mismatches of each backend in {path}")


if __name__ == "__main__":
    main()
