"""What a difference says."""

import pytest

from vyre_conform.case import Exactly, ExpectedTrap, Launch, Refusal
from vyre_conform.compare import difference
from vyre_conform.outcome import Crashed, Raised, Returned, TimedOut
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u16


def launch() -> Launch:
    with program("p", 4) as p:
        x = p.read("x", u16)
        out, floats = p.write("out", u16, like=x), p.write("floats", f32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)]
        floats[p.global_id(0)] = 1.0
    return Launch(program=p.build(), inputs={"x": bytes.fromhex("0100 0200 ff00")})


RIGHT = (bytes.fromhex("0100 0200 ff00"), bytes.fromhex("0000803f") * 3)
EXPECTED = Exactly(RIGHT, ("x",))
TRAPPED = Raised(("Trapped", "BackendError"), "trapped", {"tag": "t", "trap_code": 7, "invocation": 3})


def test_equal_bytes_do_not_differ() -> None:
    assert difference(launch(), EXPECTED, Returned(RIGHT)) is None
    assert difference(launch(), EXPECTED, Returned(RIGHT, again=RIGHT)) is None


def test_the_first_wrong_element_is_shown_with_its_operands() -> None:
    wrong = (bytes.fromhex("0100 0300 fe00"), RIGHT[1])
    found = difference(launch(), EXPECTED, Returned(wrong))
    assert str(found) == "out[1] of x=2 (0x0002): got 3 (0x0003), expected 2 (0x0002); 2 elements differ"


def test_bits_are_compared_not_values() -> None:
    negative_zero = (RIGHT[0], bytes.fromhex("00000080 0000803f 0000803f"))
    zero = (RIGHT[0], bytes.fromhex("00000000 0000803f 0000803f"))
    found = difference(launch(), Exactly(zero), Returned(negative_zero))
    assert str(found) == "floats[0]: got -0.0 (0x80000000), expected 0.0 (0x00000000)"


def test_unordered_outputs_are_compared_as_multisets() -> None:
    shuffled = (bytes.fromhex("ff00 0100 0200"), RIGHT[1])
    assert difference(launch(), Exactly(RIGHT, unordered=("out",)), Returned(shuffled)) is None
    assert difference(launch(), EXPECTED, Returned(shuffled)) is not None
    twice = (bytes.fromhex("ff00 ff00 0200"), RIGHT[1])
    assert difference(launch(), Exactly(RIGHT, unordered=("out",)), Returned(twice)) is not None


# fmt: off
ROWS = [
    (Returned(RIGHT[:1]),                            "1 outputs came, expected 2"),
    (Returned((RIGHT[0], b"")),                      "output floats has 0 bytes, expected 12"),
    (Returned(RIGHT, changed_inputs=("x",)),         "the dispatch has written to its inputs x"),
    (Returned(RIGHT, again=(bytes(6), RIGHT[1])),    "right at first, a second dispatch differs: out[0]"),
    (Raised(("DispatchFailed",), "no. Fix: yes"),              "it raised DispatchFailed: no. Fix: yes"),
    (Raised(("MemoryError",), ""),                   "it raised MemoryError"),
    (Crashed("signal SIGSEGV"),                      "expected outputs; the process ended: signal SIGSEGV"),
    (TimedOut(3),                                    "expected outputs; nothing came within 3 s"),
]
# fmt: on


@pytest.mark.parametrize(("outcome", "words"), ROWS)
def test_other_outcomes_differ(outcome: object, words: str) -> None:
    found = difference(launch(), EXPECTED, outcome)  # type: ignore[arg-type]
    assert str(found).startswith(words)
    assert "Fix: " not in words or str(found) == words


def test_traps_are_compared_by_tag_code_and_invocation() -> None:
    assert difference(launch(), ExpectedTrap("t", 7, 3), TRAPPED) is None
    assert "expected ('t', 7, 2)" in str(difference(launch(), ExpectedTrap("t", 7, 2), TRAPPED))
    assert "expected trap 't' with code 7 of invocation 3; it returned 2 outputs" in str(
        difference(launch(), ExpectedTrap("t", 7, 3), Returned(RIGHT))
    )


def test_a_refusal_is_met_by_its_class_and_those_below() -> None:
    error = Raised(("BufferTooSmall", "InvalidInput", "BackendError"), "…")
    assert difference(launch(), Refusal("InvalidInput"), error) is None
    assert difference(launch(), Refusal("InvalidProgram"), error) is not None
