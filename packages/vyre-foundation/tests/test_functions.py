"""The functions of the op table: their signatures, their documentation, and the stub beside them."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from vyre_foundation import Value, apply, bool_, constant, functions, u32
from vyre_foundation.ops import OPS, Result, Tier
from vyre_foundation.testing.stubs import check_stub

OF_THE_LANGUAGE = [row for row in OPS.values() if row.tier is Tier.LANGUAGE]


def test_the_stub_says_what_the_functions_say() -> None:
    head = """\
from typing import TypeVar, overload

from vyre_foundation.build import Number, Operand, Value

_V = TypeVar("_V", bound=Value)"""

    def keeps_type(name: str) -> bool:
        return OPS[name.removesuffix("_")].result is Result.SAME

    check_stub(functions, head, __file__, keeps_type=keeps_type)


def test_a_stale_stub_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VYRE_ACCEPT", raising=False)
    message = r"functions\.pyi differs\. Fix: .*test_functions\.py` accepts it\n(.*\n)*\+import other"
    with pytest.raises(AssertionError, match=message):
        check_stub(functions, "import other", __file__)


@pytest.mark.parametrize("row", OF_THE_LANGUAGE, ids=lambda row: row.id)
def test_each_op_has_a_function_that_records_it(row) -> None:
    (name,) = {row.id, f"{row.id}_"} & set(functions.__all__)
    function = getattr(functions, name)
    assert list(inspect.signature(function).parameters) == list(row.operands)
    operands = [Value(constant(row.accepts[0], n).expr) for n in (row.accepts[0] is not bool_, 0, 1)[: row.arity]]
    assert repr(function(*operands)) == repr(apply(row, *operands))
    assert repr(function(**dict(zip(row.operands, operands, strict=True)))) == repr(apply(row, *operands))
    assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301


@pytest.mark.parametrize("row", OF_THE_LANGUAGE, ids=lambda row: row.id)
def test_documentation_gives_every_witness(row) -> None:
    (name,) = {row.id, f"{row.id}_"} & set(functions.__all__)
    text = inspect.getdoc(getattr(functions, name))
    assert text is not None
    assert re.match(r"Compute .*[^.]\.\n\nArgs:\n    x: ", text)
    assert text.count(" gives ") == len(row.witnesses) > 0
    assert all(len(line) <= 120 for line in text.splitlines())


def test_wrong_operands_are_refused_by_the_name_of_the_function() -> None:
    x = constant(u32, 1)
    for arguments, message in (
        ((), r"min\(\) missing a required argument: 'x'. Fix: pass x, y"),
        ((x,), r"min\(\) missing a required argument: 'y'"),
        ((x, x, x), r"min\(\) too many positional arguments. Fix: pass x, y"),
    ):
        with pytest.raises(TypeError, match=message):
            functions.min(*arguments)
