"""Rules about buffers beside each other, names and limits, at their borders."""

import pytest

from vyre_foundation.dtype import u8, u32
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, LengthOf, Memory, Per, PerLaunch
from vyre_foundation.ir.expr import literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Region, Trap
from vyre_foundation.validate import InvalidProgram, validate
from vyre_foundation.validate.buffers import fixed_count


def codes(program, **options):
    try:
        validate(program, **options)
    except InvalidProgram as error:
        return [f"{f.code} {f.where}" for f in error.findings]
    return []


def declaring(*buffers, size=(1, 1, 1), subgroup=None, body=()):
    return Program("p", buffers, size, body, subgroup)


def storage(name, binding, count=RUNTIME, access=Access.READ):
    return Buffer(name, u32, access, Memory.STORAGE, count, binding)


def scratch(name, binding, count):
    return Buffer(name, u32, Access.READ_WRITE, Memory.SCRATCH, count, binding)


def unbound(memory, count, name="w", data=None):
    access = Access.READ if memory is Memory.CONSTANT else Access.READ_WRITE
    return Buffer(name, u8, access, memory, count, data=data)


@pytest.mark.parametrize(
    ("buffers", "expected"),
    [
        ([storage("a", 0), storage("b", 1), unbound(Memory.WORKGROUP, 4)], []),
        ([storage("a", 1), storage("b", 0)], ["V002 buffers[0]", "V002 buffers[1]"]),
        ([storage("a", 0), storage("b", 0)], ["V002 buffers[1]"]),
        ([storage("a", 0), storage("b", 2)], ["V002 buffers[1]"]),
        ([unbound(Memory.WORKGROUP, 4), storage("a", 0)], ["V002 buffers[1]"]),
        ([storage("a", 0), storage("a", 1)], ["V001 buffers[1]"]),
        ([storage("a", 0), storage("a", 0)], ["V001 buffers[1]", "V002 buffers[1]"]),
    ],
)
def test_names_and_bindings(buffers, expected):
    assert codes(declaring(*buffers)) == expected


@pytest.mark.parametrize(
    ("buffers", "expected"),
    [
        ([scratch("a", 0, LengthOf("b")), scratch("b", 1, LengthOf("c")), storage("c", 2)], []),
        ([scratch("a", 0, LengthOf("b")), scratch("b", 1, LengthOf("a"))], ["V006 buffers[0]", "V006 buffers[1]"]),
        ([scratch("a", 0, LengthOf("b")), scratch("b", 1, LengthOf("b"))], ["V006 buffers[0]", "V006 buffers[1]"]),
        ([scratch("a", 0, PerLaunch(Per.WORKGROUP)), scratch("b", 1, LengthOf("a"))], ["V006 buffers[1]"]),
        ([scratch("a", 0, LengthOf("w")), unbound(Memory.WORKGROUP, 4)], ["V005 buffers[0]"]),
        ([scratch("a", 0, LengthOf("b")), scratch("b", 1, LengthOf("x"))], ["V005 buffers[1]"]),
        ([scratch("a", 0, LengthOf("b", times=2)), storage("b", 1, 2**31)], ["V007 buffers[0]"]),
        ([scratch("a", 0, LengthOf("b", times=2, over=3)), storage("b", 1, 2**31)], []),
        ([scratch("a", 0, LengthOf("b", plus=-3)), storage("b", 1, 2)], ["V007 buffers[0]"]),
        ([scratch("a", 0, LengthOf("b", plus=-2)), storage("b", 1, 2)], []),
    ],
)
def test_lengths_that_follow_from_lengths(buffers, expected):
    assert codes(declaring(*buffers)) == expected


def test_a_length_that_the_declarations_decide():
    a, b, c = scratch("a", 0, LengthOf("b", plus=1)), scratch("b", 1, LengthOf("c", 2, 3)), storage("c", 2, 10)
    d, e = scratch("d", 3, LengthOf("e")), storage("e", 4)
    by_name = {x.name: x for x in (a, b, c, d, e)}
    assert [fixed_count(x, by_name) for x in (a, b, c, d, e)] == [8, 7, 10, None, None]


def test_thousands_of_buffers_are_refused_for_their_number_alone():
    chain = [scratch(f"a{n}", n, LengthOf(f"a{n + 1}")) for n in range(5000)]
    assert codes(declaring(*chain)) == ["V013 buffers"]


@pytest.mark.parametrize(
    ("size", "subgroup", "expected"),
    [
        ((1024, 1, 1), None, []),
        ((1, 1024, 1), None, []),
        ((1, 1, 64), None, []),
        ((16, 8, 8), 64, []),
        ((1025, 1, 1), None, ["V010 workgroup_size"] * 2),
        ((1, 1, 65), None, ["V010 workgroup_size"]),
        ((32, 32, 2), None, ["V010 workgroup_size"]),
        ((1, 0, -1), None, ["V010 workgroup_size"] * 2),
        ((64, 1, 1), 128, ["V011 subgroup_size"]),
        ((64, 1, 1), 0, ["V011 subgroup_size"]),
        ((24, 1, 1), 16, ["V011 subgroup_size"]),
        ((24, 1, 1), 8, []),
    ],
)
def test_workgroup_and_subgroup_size(size, subgroup, expected):
    assert codes(declaring(size=size, subgroup=subgroup)) == expected


@pytest.mark.parametrize(
    ("buffers", "expected"),
    [
        ([unbound(Memory.WORKGROUP, 2**15)], []),
        ([unbound(Memory.WORKGROUP, 2**15), unbound(Memory.WORKGROUP, 1, "x")], ["V012 buffers[1]"]),
        ([unbound(Memory.PRIVATE, 2**14)], []),
        ([unbound(Memory.PRIVATE, 2**14 + 1)], ["V012 buffers[0]"]),
        ([unbound(Memory.CONSTANT, 2**22, data=bytes(2**22))], []),
        ([unbound(Memory.CONSTANT, 2**22 + 1, data=bytes(2**22 + 1))], ["V012 buffers[0]"]),
        ([Buffer("u", u8, Access.READ, Memory.UNIFORM, 2**16, 0)], []),
        ([Buffer("u", u8, Access.READ, Memory.UNIFORM, 2**16 + 1, 0)], ["V012 buffers[0]"]),
        ([Buffer(n, u8, Access.READ, Memory.UNIFORM, 2**16, k) for k, n in enumerate("uv")], []),
    ],
)
def test_bytes_of_memory(buffers, expected):
    assert codes(declaring(*buffers)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", []),
        ("_x.y.z0", []),
        ("x__y", []),
        ("a" * 1024, []),
        ("a" * 1025, ["V015 buffers[0]"]),
        ("a b", ["V003 buffers[0]"]),
        ("0a", ["V003 buffers[0]"]),
        ("é", ["V003 buffers[0]"]),
        ("a\n", ["V003 buffers[0]"]),
        ("__a", ["V004 buffers[0]"]),
    ],
)
def test_names(name, expected):
    assert codes(declaring(storage(name, 0))) == expected


def test_texts_are_unicode():
    lone = "\ud800"
    trap = Trap(literal(u32, 1), lone)
    assert codes(declaring(body=(Region(lone, (trap,)),))) == ["V015 body[0].label", "V015 body[0].body[0].tag"]
    assert codes(Program(lone, (), (1, 1, 1), ())) == ["V015 name"]
    assert codes(Program("any text — even this", (), (1, 1, 1), (Region("", ()),))) == []
