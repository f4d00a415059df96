"""Artifacts as bytes: the same again, and nothing else."""

import pytest

from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.executable import ExecutableManifest

EMPTY = ExecutableManifest(declared=(), inputs=(), outputs=(), buffers={}, entries=(), schedule=(), traps=())
ARTIFACT = Artifact(EMPTY, "kernel void é() {}", bytes(range(256)))


def test_bytes_give_the_same_artifact() -> None:
    data = ARTIFACT.to_bytes()
    assert Artifact.from_bytes(data) == ARTIFACT
    assert ARTIFACT.to_bytes() == data


@pytest.mark.parametrize("data", [b"", ARTIFACT.to_bytes()[:-1], ARTIFACT.to_bytes() + b"\0", b"\xff" * 40])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"artifact|JSON|Expecting"):
        Artifact.from_bytes(data)
