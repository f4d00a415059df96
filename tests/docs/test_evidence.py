"""The journals in evidence/ are unchanged and say what the documentation says; recorded digests are still computed."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from blake3 import blake3

from vyre_driver import acquire

ROOT = Path(__file__).parents[2]
JOURNAL, SAMPLE = ROOT / "evidence/dask/faults.jsonl", ROOT / "evidence/math/sample.json"
DIGESTS = {name: record["digests"] for name, record in json.loads(SAMPLE.read_text("utf-8")).items()}
"""By function and backend."""

sys.path.insert(0, str(ROOT / "packages/vyre-math/tools"))
from sampled import sample  # noqa: E402


def test_the_journal_of_faults_of_clusters() -> None:
    *lines, last = JOURNAL.read_text("utf-8").splitlines(keepends=True)
    assert json.loads(last) == {"blake3 of the lines above": blake3("".join(lines).encode()).hexdigest()}
    records = [json.loads(line) for line in lines]
    kills = [record for record in records if "kill" in record]
    assert len(kills) >= 200
    outcomes = Counter(outcome for record in kills for outcome in record["outcomes"])
    assert outcomes.keys() <= {"right", "DispatchFailed"}
    assert len({record["fault"] for record in records}) >= 8


def test_backends_agree_about_the_sample() -> None:
    assert len(DIGESTS) == 22
    assert all(len(set(digests.values())) == 1 for digests in DIGESTS.values())


@pytest.mark.parametrize("backend", ["cpu", pytest.param("opencl", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", DIGESTS)
def test_elementary_functions_give_the_recorded_digest(name: str, backend: str) -> None:
    program, operands = sample(name)
    (found,) = acquire(backend).dispatch(program, list(operands))
    assert blake3(bytes(found)).hexdigest() == DIGESTS[name]["reference-scalar"]
