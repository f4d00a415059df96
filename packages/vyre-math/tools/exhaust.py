"""Runs functions of the dialect over all 2**32 inputs on a backend, compares every bit with the oracle: the evidence.

    python packages/vyre-math/tools/exhaust.py --backend opencl exp log sin             # or `all`
    python packages/vyre-math/tools/exhaust.py --backend reference --like opencl all    # digests alone, no oracle

What is done is kept, chunk by chunk, in a file beside the evidence, so a run that was stopped goes on where it was. The
evidence names inputs, mismatches, hard cases, versions, sources, the device, and a digest of all outputs in the order
of the inputs' bits: BLAKE3 over the BLAKE3 digests of the chunks, each of 2**24 outputs, little-endian.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import gmpy2
import numpy as np
from blake3 import blake3
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).parent))
from oracle import F32, NUMPY, U32, right

from vyre_driver import CompiledPipeline, acquire, compile
from vyre_driver.observe.provenance import SourceProvenance
from vyre_foundation import Program, call, f32, program

CHUNK = 2**24
CHUNKS = 2**32 // CHUNK
MAX_SHOWN = 16
DISTRIBUTIONS = ("vyre-math", "vyre-foundation", "vyre-driver", "numpy", "gmpy2")


def kernel(name: str) -> Program:
    """``out[i] = math.name(x[i])``."""
    with program(f"every_{name}", 256) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        out[p.global_id(0)] = call(f"math.{name}", x[p.global_id(0)])
    return p.build()


@click.command(help=__doc__)
@click.argument("names", nargs=-1, required=True)
@click.option("--backend", default="opencl", show_default=True)
@click.option("--like", help="Compare digests with the evidence of this backend, and nothing else.")
@click.option("--evidence", type=click.Path(path_type=Path), default=Path("evidence/math"), show_default=True)
def main(names: tuple[str, ...], backend: str, like: str | None, evidence: Path) -> None:
    evidence.mkdir(parents=True, exist_ok=True)
    engine = acquire(backend)
    wrong = []
    with Progress() as progress:
        for name in NUMPY if names == ("all",) else names:
            pipeline = compile(engine, kernel(name))
            check = partial(_compared, name, pipeline) if like is None else partial(_digested, pipeline)
            chunks = kept(name, evidence / f"{name}.{backend}.partial", CHUNKS, progress, check)
            record = _judged(chunks) if like is None else {"like": like}
            total = blake3(b"".join(bytes.fromhex(chunk["digest"]) for chunk in chunks)).hexdigest()
            expected = json.loads((evidence / f"{name}.{like}.json").read_text())["digest"] if like else total
            record = {"function": f"math.{name}", "inputs": CHUNKS * CHUNK} | record | {"digest": total}
            record |= provenance(backend, engine.device_profile().identity)
            (evidence / f"{name}.{backend}.json").write_text(json.dumps(record, indent=2) + "\n")
            is_right = not record.get("mismatches") and total == expected
            progress.console.print(f"{name}: {'right' if is_right else 'WRONG'}")
            wrong += [] if is_right else [name]
    if wrong:
        raise click.ClickException(f"wrong bits: {', '.join(wrong)}. Fix: without --like, the evidence has `examples`")


def kept(
    name: str, done: Path, count: int, progress: Progress, check: Callable[[int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """What `check` says of all chunks; what it said before is in the file `done`, which is removed at the end."""
    chunks = [json.loads(line) for line in done.read_text().splitlines()] if done.exists() else []
    task = progress.add_task(name, total=count, completed=len(chunks))
    with done.open("a") as file:
        for number in range(len(chunks), count):
            chunks.append(check(number))
            file.write(json.dumps(chunks[-1]) + "\n")
            file.flush()
            progress.advance(task)
    done.unlink()
    return chunks


def _judged(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "mismatches": sum(chunk["mismatches"] for chunk in chunks),
        "hard_cases": sum(chunk["hard_cases"] for chunk in chunks),
        "examples": [example for chunk in chunks for example in chunk["examples"]][:MAX_SHOWN],
    }


def _compared(name: str, pipeline: CompiledPipeline, number: int) -> dict[str, Any]:
    """One chunk: its mismatches as (input, got, expected) in bits, how often MPFR decided, and the digest."""
    x = _inputs(number)
    got = _outputs(pipeline, x)
    expected, hard = right(name, x)
    wrong = np.flatnonzero(got != expected)
    examples = [[f"{int(a[i]):#010x}" for a in (x.view(np.uint32), got, expected)] for i in wrong[:MAX_SHOWN]]
    return {"mismatches": len(wrong), "hard_cases": len(hard), "examples": examples, "digest": digest(got)}


def _digested(pipeline: CompiledPipeline, number: int) -> dict[str, Any]:
    return {"digest": digest(_outputs(pipeline, _inputs(number)))}


def _inputs(number: int) -> F32:
    return np.arange(number * CHUNK, (number + 1) * CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)


def _outputs(pipeline: CompiledPipeline, x: F32) -> U32:
    return np.frombuffer(pipeline.dispatch([x])[0], np.uint32)


def digest(outputs: U32) -> str:
    return blake3(outputs.tobytes()).hexdigest()


def provenance(backend: str, identity: tuple[str, ...]) -> dict[str, Any]:
    return {"backend": backend, "device": list(identity), **origin()}


def origin() -> dict[str, Any]:
    """By which sources a record was made, and when."""
    return {
        "versions": {name: version(name) for name in DISTRIBUTIONS} | {"mpfr": gmpy2.mpfr_version()},
        "sources": SourceProvenance.capture(Path(__file__).parent).source_fingerprint,
        "python": platform.python_version(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    main()
