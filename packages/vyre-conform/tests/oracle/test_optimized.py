"""The optimizer has an opinion on every case, and a wrong one settles nothing."""

from dataclasses import replace

import pytest

from vyre_conform.address import Query
from vyre_conform.cases import specs
from vyre_conform.oracle import evaluators, settle
from vyre_foundation.ir.stmt import Store
from vyre_foundation.ir.walk import rewrite_body
from vyre_foundation.optimize.analysis import facts_after
from vyre_foundation.validate.facts import Facts


def forgetting_stores(facts: Facts) -> Facts:
    body = rewrite_body(facts.program.body, lambda stmt: () if isinstance(stmt, Store) else stmt)
    return facts_after(facts, replace(facts.program, body=body))


def test_an_optimizer_that_is_wrong_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    (spec,) = specs([Query.parse("ops:add:dtype=u8")])
    case = spec.case()
    assert settle(case).is_settled
    monkeypatch.setattr(evaluators, "optimize", forgetting_stores)
    assert set(settle(case).mismatches) == {"optimized"}
