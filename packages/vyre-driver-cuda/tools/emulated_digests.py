"""The evidence for elementary functions on the emulation: every argument, pairs, or a sample beside other backends.

    python packages/vyre-driver-cuda/tools/emulated_digests.py exhaust --like opencl all
    python packages/vyre-driver-cuda/tools/emulated_digests.py pairs pow --pairs 100_000_000
    python packages/vyre-driver-cuda/tools/emulated_digests.py sample all

The tools are those in `packages/vyre-math/tools`, with the emulation as their backend or beside those that they have,
and take the same words. What they write says that emitted CUDA C++ gives these bits by the rules of C++; it says
nothing about a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "packages/vyre-driver-cuda/tests/emulation"), str(ROOT / "packages/vyre-math/tools")]

import click  # noqa: E402
import exhaust  # noqa: E402
import pairs_of  # noqa: E402
import sampled  # noqa: E402
from cuda_emulation import registration  # noqa: E402

from vyre_driver.registry.backends import register  # noqa: E402

TOOLS = {
    "exhaust": (exhaust.main, "--backend"),
    "pairs": (pairs_of.main, "--backend"),
    "sample": (sampled.main, "--beside"),
}


@click.command(help=__doc__, context_settings={"ignore_unknown_options": True})
@click.argument("tool", type=click.Choice(list(TOOLS)))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def main(tool: str, words: tuple[str, ...]) -> None:
    register(registration)
    command, option = TOOLS[tool]
    command([option, registration.id, *words])


if __name__ == "__main__":
    main()
