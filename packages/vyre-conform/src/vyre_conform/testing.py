"""For the test suite of a backend: every cell as a test id.

from vyre_conform.testing import cells, require

@pytest.mark.parametrize("spec", cells("ops", "memory:*"), ids=str)
def test_conforms(spec, mine):
    require(mine, spec)
"""

from __future__ import annotations

from vyre_conform.address import Query
from vyre_conform.case import Spec
from vyre_conform.cell import State
from vyre_conform.judge import judge
from vyre_conform.oracle import settle
from vyre_conform.suite import Suite
from vyre_conform.worker.serve import run
from vyre_driver.backend.contract import VyreBackend


def cells(*queries: str, fuzz: int = 0, seed: int = 0) -> list[Spec]:
    """The cases that queries mean, and random programs."""
    return Suite(queries=tuple(Query.parse(query) for query in queries or ("*",)), fuzz=fuzz).specs(seed)


def require(backend: VyreBackend, spec: Spec, *, seed: int = 0, repeats: int = 2) -> State:
    """Judge one case on a backend in this process: `PASS` or `UNSUPPORTED`, or `AssertionError` with the difference."""
    case = spec.case(seed)
    verdict = settle(case)
    if not verdict.is_settled:
        raise AssertionError(f"{case.address}: the opinions disagree: {verdict.disagreements}")
    cells = judge(case, verdict, backend.id(), run(backend, case.launch, repeats))
    for cell in cells:
        if cell.state.is_bad:
            raise AssertionError(f"{cell.address} on {cell.backend}: {cell.reason}")
    return cells[0].state
