"""Journals in evidence/ are as they were written, and say what the documentation says."""

import json
from collections import Counter
from pathlib import Path

from blake3 import blake3

JOURNAL = Path(__file__).parents[2] / "evidence/dask/faults.jsonl"


def test_the_journal_of_faults_of_clusters() -> None:
    *lines, last = JOURNAL.read_text("utf-8").splitlines(keepends=True)
    assert json.loads(last) == {"blake3 of the lines above": blake3("".join(lines).encode()).hexdigest()}
    records = [json.loads(line) for line in lines]
    kills = [record for record in records if "kill" in record]
    assert len(kills) >= 200
    outcomes = Counter(outcome for record in kills for outcome in record["outcomes"])
    assert outcomes.keys() <= {"right", "DispatchFailed"}
    assert len({record["fault"] for record in records}) >= 8
