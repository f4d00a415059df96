"""Stability: wire bytes, emitted code and cache keys are the same in every process.

An order that comes from hashing would show only in another process, so each sweep asks several, with different seeds of
Python's hashes, for the digests of the same cases.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence

from vyre_conform.address import Query
from vyre_conform.case import Case, Refusal
from vyre_conform.digest import digest_of
from vyre_conform.suite import Suite
from vyre_conform.worker.opening import NamedBy, open_backend
from vyre_driver import process
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import BackendError
from vyre_driver.pipeline.compile import compile
from vyre_driver.registry.aot import emit_aot_target
from vyre_foundation.optimize import optimize
from vyre_foundation.validate import validate

SEEDS = ("0", "1", "4294967295")
SECONDS = 300.0
QUERIES = (
    "memory:lengths", "memory:through:dtype=f16", "floats:contraction:dtype=f32", "grid:everything_lives_across",
    "atomics:old_values:dtype=i64,memory=workgroup", "subgroups:*:size=8,dtype=u32", "corpus:traps",
    "programs:byte_code", "control:nested_jumps", "entries:compiled",
)  # fmt: skip
"""Cases with something of everything that could be put into an order by hashing."""

Digests = dict[str, str]


def sweep(
    queries: Sequence[str], *, targets: Sequence[str] = (), backends: Sequence[str] = (), seeds: Iterable[str] = SEEDS
) -> dict[str, list[Digests]]:
    """What differs between processes: by case, the digests that each of them has. Empty if all agree.

    `targets` are those of emitters ahead of time, `backends` are asked for the keys of compiled programs.
    """
    command = process.python("-m", __name__, *queries)
    command += [f"--target={target}" for target in targets] + [f"--key={backend}" for backend in backends]
    found = []
    for seed in seeds:
        done = process.run(command, seconds=SECONDS, env=process.environment(PYTHONHASHSEED=seed))
        done.check_returncode()
        found.append(json.loads(done.stdout))
    return {
        case: [one[case] for one in found] for case in found[0] if any(one[case] != found[0][case] for one in found)
    }


def digests(queries: Sequence[str], targets: Sequence[str], backends: Sequence[str]) -> dict[str, Digests]:
    """The digests of the cases in this process."""
    specs = Suite(queries=tuple(Query.parse(query) for query in queries)).specs(0)
    cases = [spec.case() for spec in specs]
    opened = {name: open_backend(name, NamedBy.CALLER) for name in backends}
    try:
        return {str(c.address): _of(c, targets, opened) for c in cases if not isinstance(c.expected, Refusal)}
    finally:
        for backend in opened.values():
            backend.shutdown()


def _of(case: Case, targets: Sequence[str], backends: Mapping[str, VyreBackend]) -> Digests:
    program = case.launch.program
    found = {
        "wire": digest_of(program.encode()),
        "optimized": digest_of(optimize(validate(program)).program.encode()),
        "inputs": digest_of(*(data for _, data in sorted(case.launch.inputs.items()))),
    }
    for target in targets:
        try:
            found[target] = digest_of(emit_aot_target(target, program))
        except BackendError as error:
            found[target] = type(error).__name__
    for name, backend in backends.items():
        try:
            with compile(backend, program) as pipeline:
                found[f"key {name}"] = pipeline.id()
        except BackendError as error:
            found[f"key {name}"] = type(error).__name__
        if (show := getattr(backend, "emitted_source", None)) is not None:
            found[f"source {name}"] = digest_of(show(program).text.encode())
    return found


def main(words: Sequence[str]) -> None:
    """Print the digests as JSON."""
    options = [word.partition("=") for word in words if word.startswith("--")]
    targets = [value for option, _, value in options if option == "--target"]
    backends = [value for option, _, value in options if option == "--key"]
    json.dump(digests([word for word in words if not word.startswith("--")], targets, backends), sys.stdout)


if __name__ == "__main__":
    process.end_with_parent()
    main(sys.argv[1:])
