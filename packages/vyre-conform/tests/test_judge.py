"""Parts of a launch are judged by themselves, and their digests are of their own bytes."""

from pathlib import Path

import pytest

from vyre_conform.address import address
from vyre_conform.case import Case, Exactly, Launch, OutputSlice
from vyre_conform.cell import State
from vyre_conform.gaps import BadGapList, read_gaps
from vyre_conform.judge import digests_of_launch, judge, skip
from vyre_conform.oracle import Verdict
from vyre_conform.outcome import Crashed, Raised, Returned
from vyre_foundation.build import program
from vyre_foundation.dtype import u8


def case() -> Case:
    with program("two", 4) as p:
        x = p.read("x", u8)
        p.write("a", u8, like=x)[p.global_id(0)] = x[p.global_id(0)]
        p.write("b", u8, like=x)[p.global_id(0)] = x[p.global_id(0)]
    parts = (
        OutputSlice(address("g", "n", rows="low"), range(2)),
        OutputSlice(address("g", "n", rows="high", of="b"), range(2, 4), ("b",)),
    )
    launch = Launch(program=p.build(), inputs={"x": b"\1\2\3\4"})
    expected = Exactly((b"\1\2\3\4", b"\1\2\3\4"), ("x",))
    return Case(address=address("g", "n"), launch=launch, expected=expected, parts=parts)


RIGHT = Verdict(case().expected, {})


def test_only_the_part_that_differs_fails() -> None:
    low, high = judge(case(), RIGHT, "b", Returned((b"\1\2\3\4", b"\1\2\3\7")), 0.5)
    assert (low.state, high.state) == (State.PASS, State.FAIL)
    assert high.reason == "b[3] of x=4 (0x04): got 7 (0x07), expected 4 (0x04)"
    assert low.digests.got == low.digests.expected
    assert high.digests.got != high.digests.expected
    assert low.digests.launch == high.digests.launch == digests_of_launch(case().launch)[1]
    assert (low.seconds, high.seconds) == (0.25, 0.25)


def test_what_is_in_no_part_is_in_no_cell() -> None:
    """Element 2 of `a` belongs to neither: these parts are not a partition, those of the corpus are."""
    cells = judge(case(), RIGHT, "b", Returned((b"\1\2\0\4", b"\1\2\3\4")))
    assert [cell.state for cell in cells] == [State.PASS, State.PASS]


def test_the_end_of_a_launch_is_the_end_of_its_parts() -> None:
    for outcome, state in (
        (Crashed("signal SIGFPE", "last words"), State.CRASHED),
        (Raised(("UnsupportedFeature",), "no"), State.UNSUPPORTED),
        (Raised(("DispatchTimeout",), "late"), State.TIMEOUT),
        (Returned((b"\1\2\3\4", b"\1\2\3\4"), changed_inputs=("x",)), State.FAIL),
        (Returned((b"\1\2\3", b"\1\2\3")), State.FAIL),
    ):
        cells = judge(case(), RIGHT, "b", outcome)
        assert [cell.state for cell in cells] == [state, state]
        assert [str(cell.address) for cell in cells] == ["g:n:rows=low", "g:n:rows=high,of=b"]


def test_a_second_dispatch_counts() -> None:
    outcome = Returned((b"\1\2\3\4", b"\1\2\3\4"), again=(b"\1\2\3\4", b"\1\2\3\0"))
    low, high = judge(case(), RIGHT, "b", outcome)
    assert (low.state, high.state) == (State.PASS, State.FAIL)
    assert high.reason.startswith("right at first, a second dispatch differs: b[3]")


def test_a_skipped_case_has_a_cell_for_each_part() -> None:
    assert [cell.state for cell in skip(case(), "b", "why")] == [State.SKIPPED, State.SKIPPED]


def test_everything_that_matters_is_in_the_digest_of_a_launch() -> None:
    launch = case().launch
    variants = [
        launch,
        Launch(program=launch.program, inputs={"x": b"\1\2\3\5"}),
        Launch(program=launch.program, inputs=launch.inputs, grid=(1, 1, 1)),
        Launch(program=launch.program, inputs=launch.inputs, workgroup=(1, 1, 1)),
        Launch(program=launch.program, inputs=launch.inputs, iterations=2),
        Launch(program=launch.program, inputs=launch.inputs, entry="compiled"),
    ]
    assert len({digests_of_launch(variant)[1] for variant in variants}) == len(variants)
    assert len({digests_of_launch(variant)[0] for variant in variants}) == 1


@pytest.mark.parametrize("data", [b"\xff\xfe", b"gap = [1]", b"gap = 1", b"other = 1", b"[[gap]]\ncells = 1\n"])
def test_a_list_of_gaps_that_is_none_says_so(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "gaps.toml").write_bytes(data)
    with pytest.raises(BadGapList, match="Fix: "):
        read_gaps(tmp_path / "gaps.toml")
