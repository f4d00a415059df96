"""The backend of sixty lines on the page about backends: it runs, and what it runs it runs rightly."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from vyre_conform.cell import State
from vyre_conform.testing import cells, require
from vyre_driver import VyreBackend
from vyre_driver.testing.contract import BackendContract
from vyre_driver.testing.witnesses import doubling
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = 60
"""Lines of its code, without imports and the docstring."""


@pytest.fixture(scope="module")
def opened() -> Iterator[VyreBackend]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        from first_backend import registration  # type: ignore[import-not-found]

        backend: VyreBackend = registration.factory()
        yield backend
        backend.shutdown()


def test_it_is_as_long_as_it_says() -> None:
    text = (EXAMPLES / "first_backend.py").read_text("utf-8")
    body = text[text.index("REGISTERS, ") :]
    assert len([line for line in body.splitlines() if line.strip()]) <= PRINTED


def test_it_runs_a_program(opened: VyreBackend) -> None:
    witness = doubling(1000)
    (out,) = opened.dispatch_arrays(witness.program, {"x": witness.inputs["x"]}).values()
    assert np.array_equal(out, witness.inputs["x"] * 2)


@pytest.mark.parametrize("name", ["group", "groups", "uint32_t", "asm", "unix"])
def test_a_buffer_may_have_a_name_that_the_source_has(opened: VyreBackend, name: str) -> None:
    with program("places", 4) as p:
        p.write(name, u32, 8)[p.global_id(0)] = p.workgroup_id(0)
    assert opened.dispatch_arrays(p.build(), {})[name].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_it_passes_what_it_does_not_refuse(opened: VyreBackend) -> None:
    queries = (
        "claims", "names", "corpus:ids_3d:*", "ops:add:dtype=u8", "ops:add:dtype=i64", "ops:add:dtype=f32,*",
        "ops:add:dtype=bf16", "ops:div:dtype=i32", "ops:sqrt:dtype=f32", "casts:cast:source=f32*",
        "memory:lengths", "programs:sha256", "barriers:r*", "grid:two_phases", "subgroups:*:size=8,dtype=u32",
    )  # fmt: skip
    found = [list(cells(query)) for query in queries]
    assert all(found)
    ended = Counter(require(opened, spec) for specs in found for spec in specs)
    assert ended[State.PASS] > 40
    assert set(ended) <= {State.PASS, State.UNSUPPORTED, State.SKIPPED}


class TestContract(BackendContract):
    """The calls of the contract."""

    def make(self) -> VyreBackend:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(EXAMPLES)
            from first_backend import registration

            backend: VyreBackend = registration.factory()
            return backend
