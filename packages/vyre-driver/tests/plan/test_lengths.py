"""Element counts: from inputs, from rules, from the launch; every refusal names the buffer, needed and got."""

import pytest

from vyre_driver.errors import InvalidInput
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.lengths import input_lengths, least_lengths
from vyre_foundation.build import ProgramBuilder, program
from vyre_foundation.dtype import u8, u32, u64
from vyre_foundation.ir.buffer import LengthOf, Per, PerLaunch


def builder(workgroup_size: int = 4) -> ProgramBuilder:
    return program("p", workgroup_size)


def lengths(p: ProgramBuilder, *byte_lengths: int) -> dict[str, int]:
    return dict(plan_launch(p.build(), byte_lengths).lengths)


def test_inputs_bring_their_lengths() -> None:
    p = builder()
    p.read("a", u32)
    p.uniform("b", u8)
    p.read_write("c", u64)
    assert lengths(p, 12, 3, 0) == {"a": 3, "b": 3, "c": 0}


@pytest.mark.parametrize(("length", "count"), [(0, 1), (1, 2), (255, 2), (256, 2), (257, 3)])
def test_a_rule_rounds_up(length: int, count: int) -> None:
    p = builder()
    p.read("a", u8)
    p.write("out", u8, LengthOf("a", 1, 256, 1))
    assert lengths(p, length)["out"] == count


@pytest.mark.parametrize(("length", "count"), [(1, 0), (2, 1), (2**16, 2**16 - 1)])
def test_a_rule_may_take_elements_away(length: int, count: int) -> None:
    p = builder()
    p.read("row_starts", u8)
    p.write("rows", u8, LengthOf("row_starts", plus=-1))
    assert lengths(p, length)["rows"] == count


def test_a_rule_cannot_take_away_what_is_not_there() -> None:
    p = builder()
    p.read("row_starts", u8)
    p.write("rows", u8, LengthOf("row_starts", plus=-1))
    with pytest.raises(InvalidInput) as caught:
        lengths(p, 0)
    assert str(caught.value) == (
        "argument 'rows': got -1 elements by the rule of its length, expected a longer 'row_starts'. "
        "Fix: pass at least as many elements as the rule takes away"
    )


@pytest.mark.parametrize(("over", "plus"), [(1, -1), (3, -5), (1, -1000)])
def test_the_least_lengths_satisfy_the_rules(over: int, plus: int) -> None:
    p = builder()
    p.read("a", u32)
    p.write("b", u8, LengthOf("a", over=over, plus=plus))
    p.write("c", u8, LengthOf("b", plus=plus))
    assert min(lengths(p, *least_lengths(p.build())).values()) >= 0


def test_rules_may_follow_each_other_in_any_order() -> None:
    p = builder()
    p.write("c", u8, LengthOf("b", 2))
    p.write("b", u8, LengthOf("a", 3))
    p.read("a", u8)
    assert lengths(p, 5) == {"c": 30, "b": 15, "a": 5}


def test_a_chain_of_rules() -> None:
    p = builder()
    for n in range(60):
        p.write(f"b{n}", u8, LengthOf(f"b{n + 1}" if n < 59 else "a"))
    p.read("a", u8)
    assert set(lengths(p, 7).values()) == {7}


def test_scratch_of_the_launch() -> None:
    p = builder(workgroup_size=8)
    a = p.read("a", u8)
    p.write("out", u8, like=a)
    p.scratch("groups", u32, PerLaunch(Per.WORKGROUP, 3))
    p.scratch("invocations", u32, PerLaunch(Per.INVOCATION, 2))
    assert lengths(p, 17) == {"a": 17, "out": 17, "groups": 9, "invocations": 48}


def test_fixed_memory() -> None:
    p = builder()
    p.constant("table", u32, [1, 2, 3])
    p.workgroup("shared", u32, 5)
    p.private("own", u32, 6)
    p.scratch("s", u32, 7)
    p.persistent("k", u32, 8)
    assert lengths(p) == {"s": 7, "k": 8, "table": 3, "shared": 5, "own": 6}


@pytest.mark.parametrize(
    ("byte_lengths", "buffer", "needed", "got"),
    [
        ((), "a", "2 inputs in binding order (a, b)", "0 inputs"),
        ((4,), "b", "2 inputs in binding order (a, b)", "1 inputs"),
        ((4, 8, 4), "number 2", "2 inputs in binding order (a, b)", "3 inputs"),
        ((5, 8), "a", "a multiple of 4 bytes (u32)", "5 bytes"),
        ((4, 4), "b", "8 bytes (2 elements of u32)", "4 bytes"),
        ((4, 12), "b", "8 bytes (2 elements of u32)", "12 bytes"),
        ((4, 0), "b", "8 bytes (2 elements of u32)", "0 bytes"),
        ((2**34, 8), "a", "at most 4294967295 elements", "4294967296 elements"),
    ],
)
def test_refused_inputs(byte_lengths: tuple[int, ...], buffer: str, needed: str, got: str) -> None:
    p = builder()
    p.read("a", u32)
    p.read("b", u32, 2)
    with pytest.raises(InvalidInput) as caught:
        lengths(p, *byte_lengths)
    assert (caught.value.buffer, caught.value.needed, caught.value.got) == (buffer, needed, got)


def test_an_input_with_a_rule_must_follow_it() -> None:
    p = builder()
    a = p.read("a", u8)
    p.read("b", u8, like=a)
    assert lengths(p, 3, 3) == {"a": 3, "b": 3}
    with pytest.raises(InvalidInput, match="argument 'b': got 4 elements, expected 3 elements, as 'a' has 3"):
        lengths(p, 3, 4)


def test_a_derived_length_must_fit_too() -> None:
    p = builder()
    p.read("a", u8)
    p.write("out", u8, LengthOf("a", 2**31))
    with pytest.raises(InvalidInput, match="argument 'out': got 4294967296 elements, expected at most 4294967295"):
        lengths(p, 2)


def test_a_uniform_has_a_limit_at_launch_too() -> None:
    with program("p") as p:
        small = p.uniform("small", u32)
        out = p.write("out", u32, 1)
        out[0] = small[1]
    made = p.build()
    assert input_lengths(made, [65536]) == {"small": 16384}
    with pytest.raises(InvalidInput, match="'small': got 65540 bytes, expected at most 65536 bytes in a uniform"):
        input_lengths(made, [65540])
