"""The version of an emitter is part of the key of compiled code: it changes with what is emitted.

Otherwise code that was compiled before a change stays in use behind it, wrong code too. `VYRE_ACCEPT=1` writes the
digests.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from vyre_driver.registry.aot import emit_aot_target
from vyre_driver_cpu.port import CpuPort
from vyre_driver_cuda.port import CudaPort
from vyre_foundation.testing import EVERYTHING, addressing, generate, recurrence
from vyre_foundation.testing.goldens import accepting, is_accepted

RECORDS = Path(__file__).parent / "emitted"
EMITTERS = {"cpu-ir": CpuPort, "cuda-c": CudaPort}
"""The text of OpenCL depends on the device that is here; it is made as CUDA's is."""


def digest(target: str) -> str:
    """Of the texts of some random programs."""
    found = hashlib.sha256()
    cases = [generate(seed, EVERYTHING) for seed in range(64)]
    cases += [make(seed) for make in (addressing, recurrence) for seed in range(8)]
    for case in cases:
        found.update(emit_aot_target(target, case.program))
    return found.hexdigest()


@pytest.mark.parametrize("target", EMITTERS)
def test_what_is_emitted_is_that_of_the_version(target: str) -> None:
    record, version, found = RECORDS / f"{target}.txt", EMITTERS[target].emitter_version, digest(target)
    before, digest_before = record.read_text("utf-8").splitlines() if record.exists() else ("", "")
    if (version, found) != (before, digest_before):
        owner = EMITTERS[target].__name__
        assert before != version, f"{target} is emitted anew. Fix: change `emitter_version` of {owner}"
        assert is_accepted(), f"{target}: the record is of another version. {accepting(__file__)}"
        record.parent.mkdir(exist_ok=True)
        record.write_text(f"{version}\n{found}\n", "utf-8")
