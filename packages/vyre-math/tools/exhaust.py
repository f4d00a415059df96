"""Runs functions of the dialect over all 2**32 inputs on a backend, compares every bit with the oracle: the evidence.

    python packages/vyre-math/tools/exhaust.py --backend opencl exp log sin      # or `all`

What is done is kept, chunk by chunk, in a file beside the evidence, so a run that was stopped goes on where it was. The
evidence names inputs, mismatches, hard cases, versions, sources, the device, and a digest of all outputs in the order
of the inputs' bits: BLAKE3 over the BLAKE3 digests of the chunks, each of 2**24 outputs, little-endian.
"""

from __future__ import annotations

import json
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import gmpy2
import numpy as np
from blake3 import blake3
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).parent))
from oracle import NUMPY, right

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
@click.option("--evidence", type=click.Path(path_type=Path), default=Path("evidence/math"), show_default=True)
def main(names: tuple[str, ...], backend: str, evidence: Path) -> None:
    evidence.mkdir(parents=True, exist_ok=True)
    engine = acquire(backend)
    failed = []
    with Progress() as progress:
        for name in NUMPY if names == ("all",) else names:
            pipeline = compile(engine, kernel(name))
            record = _run(name, pipeline, evidence / f"{name}.{backend}.partial", progress)
            record |= provenance(backend, engine.device_profile().identity)
            (evidence / f"{name}.{backend}.json").write_text(json.dumps(record, indent=2) + "\n")
            progress.console.print(f"{name}: {record['mismatches']} mismatches, {record['hard_cases']} hard cases")
            failed += [name] if record["mismatches"] else []
    if failed:
        raise click.ClickException(f"not correctly rounded: {', '.join(failed)}. Fix: see `examples` in the evidence")


def _run(name: str, pipeline: CompiledPipeline, partial: Path, progress: Progress) -> dict[str, Any]:
    """All chunks that are not in the file `partial` yet; it is removed at the end."""
    done = [json.loads(line) for line in partial.read_text().splitlines()] if partial.exists() else []
    task = progress.add_task(name, total=CHUNKS, completed=len(done))
    with partial.open("a") as file:
        for number in range(len(done), CHUNKS):
            done.append(_check(name, pipeline, number))
            file.write(json.dumps(done[-1]) + "\n")
            file.flush()
            progress.advance(task)
    partial.unlink()
    digest = blake3(b"".join(bytes.fromhex(chunk["digest"]) for chunk in done)).hexdigest()
    return {
        "function": f"math.{name}",
        "inputs": CHUNKS * CHUNK,
        "mismatches": sum(chunk["mismatches"] for chunk in done),
        "hard_cases": sum(chunk["hard_cases"] for chunk in done),
        "examples": [example for chunk in done for example in chunk["examples"]][:MAX_SHOWN],
        "digest": digest,
    }


def _check(name: str, pipeline: CompiledPipeline, number: int) -> dict[str, Any]:
    """One chunk: its mismatches as (input, got, expected) in bits, how often MPFR decided, and the digest."""
    x = np.arange(number * CHUNK, (number + 1) * CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)
    got = np.frombuffer(pipeline.dispatch([x])[0], np.uint32)
    expected, hard = right(name, x)
    wrong = np.flatnonzero(got != expected)
    examples = [[f"{int(a[i]):#010x}" for a in (x.view(np.uint32), got, expected)] for i in wrong[:MAX_SHOWN]]
    digest = blake3(got.view(np.uint8)).hexdigest()
    return {"mismatches": len(wrong), "hard_cases": len(hard), "examples": examples, "digest": digest}


def provenance(backend: str, identity: tuple[str, ...]) -> dict[str, Any]:
    return {
        "backend": backend,
        "device": list(identity),
        "versions": {name: version(name) for name in DISTRIBUTIONS} | {"mpfr": gmpy2.mpfr_version()},
        "sources": SourceProvenance.capture(Path(__file__).parent).source_fingerprint,
        "python": platform.python_version(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    main()
