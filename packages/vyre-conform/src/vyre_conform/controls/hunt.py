"""Running the suite against planted faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vyre_conform.address import Query
from vyre_conform.case import Case, Spec
from vyre_conform.compare import difference
from vyre_conform.controls.fault import Fault
from vyre_conform.oracle import Verdict, settle
from vyre_conform.report import Kill


class Cases:
    """Cases that are worked out and settled once for all faults."""

    def __init__(self, specs: Sequence[Spec], seed: int) -> None:
        self.specs, self.seed = specs, seed
        self._settled: dict[Spec, tuple[Case, Verdict]] = {}

    def of(self, spec: Spec) -> tuple[Case, Verdict]:
        if spec not in self._settled:
            case = spec.case(self.seed)
            self._settled[spec] = (case, settle(case))
        return self._settled[spec]

    def in_order_for(self, fault: Fault) -> Iterable[Spec]:
        """Near ones first."""
        near = [Query.parse(query) for query in fault.near.split()]
        rank = {True: 0, False: 1}
        return sorted(self.specs, key=lambda spec: rank[any(query.matches(spec.address) for query in near)])


def hunt(fault: Fault, cases: Cases) -> Kill:
    """The first case that tells the faulty backend from a right one."""
    execute = fault.begin()
    for spec in cases.in_order_for(fault):
        case, verdict = cases.of(spec)
        if not verdict.is_settled:
            continue
        outcome = execute(case.launch)
        if outcome is None:
            continue
        found = difference(case.launch, verdict.expected, outcome)
        if found is not None:
            return Kill(fault.id, fault.summary, str(case.address), str(found))
    return Kill(fault.id, fault.summary, None)


def run_controls(specs: Sequence[Spec], seed: int, faults: Iterable[Fault] | None = None) -> list[Kill]:
    """Hunt every planted fault with some cases."""
    from vyre_conform.controls import FAULTS

    cases = Cases(specs, seed)
    return [hunt(fault, cases) for fault in (FAULTS if faults is None else faults)]
