"""Declarations: interned, immutable, and without contradictions."""

import pickle
from typing import Any

import numpy as np
import pytest

from vyre_foundation.dtype import f32, u8, u32
from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir import RUNTIME, Access, Buffer, LengthOf, Memory, Per, PerLaunch

BASE: dict[str, Any] = {
    "name": "b",
    "dtype": u32,
    "access": Access.READ,
    "memory": Memory.STORAGE,
    "count": 4,
    "binding": 0,
}
OUTPUT = BASE | {"access": Access.WRITE}
OWN = BASE | {"access": Access.READ_WRITE, "binding": None}


def test_equal_declarations_are_one_object() -> None:
    b = Buffer(**BASE)
    assert b is Buffer("b", u32, Access.READ, Memory.STORAGE, 4, 0)
    assert b is b.replace() is pickle.loads(pickle.dumps(b))  # noqa: S301
    assert b is not b.replace(count=5)
    assert b.replace(count=5).replace(count=4) is b
    assert Buffer(**BASE | {"count": LengthOf("a")}) is Buffer(**BASE | {"count": LengthOf("a", 1, 1, 0)})


def test_a_field_that_buffers_do_not_have_is_named() -> None:
    with pytest.raises(DeclarationError, match=r"buffer 'b': got the field 'type', .* Fix: name one of name, dtype, "):
        Buffer(**BASE).replace(type=f32)


def test_declarations_are_immutable() -> None:
    with pytest.raises(AttributeError, match=r"Fix: declare a new one with `replace\(count=…\)`"):
        Buffer(**BASE).count = 5


# fmt: off
ALLOWED = [
    BASE | {"count": RUNTIME}, OUTPUT, OUTPUT | {"count": LengthOf("a", 3, 4, 1)}, OUTPUT | {"output_range": (0, 0)},
    OUTPUT | {"count": LengthOf("a", plus=-1)},
    OUTPUT | {"access": Access.READ_WRITE, "count": RUNTIME, "output_range": (4, 8)}, BASE | {"count": 0},
    BASE | {"count": 2**32 - 1, "binding": 2**16 - 1}, BASE | {"memory": Memory.UNIFORM, "count": RUNTIME},
    OWN | {"memory": Memory.WORKGROUP}, OWN | {"memory": Memory.PRIVATE},
    OWN | {"memory": Memory.SCRATCH, "binding": 1},
    OWN | {"memory": Memory.SCRATCH, "binding": 1, "count": PerLaunch(Per.WORKGROUP, 2)},
    OWN | {"memory": Memory.PERSISTENT, "binding": 1, "count": LengthOf("a")},
    BASE | {"memory": Memory.CONSTANT, "binding": None, "data": bytes(16)},
    BASE | {"memory": Memory.CONSTANT, "binding": None, "data": b"", "count": 0},
]
REFUSED = [
    (BASE | {"name": ""},                                    "the name is empty"),
    (BASE | {"dtype": "u32"},                                "got 'u32', expected a type"),
    (BASE | {"dtype": np.dtype("u4")},                       "got the type uint32, expected a type"),
    (BASE | {"access": "read"},                              "got 'read', expected a member of Access"),
    (BASE | {"memory": "storage"},                           "got 'storage', expected a member of Memory"),
    (OWN | {"memory": Memory.SCRATCH, "binding": 0, "count": PerLaunch("workgroup")}, "expected a member of Per"),
    *[
        (BASE | {"memory": Memory.CONSTANT, "binding": None, "count": 1, "data": data}, f"got {type(data).__name__}, ")
        for data in (np.ones(1, np.uint32), bytearray(4), memoryview(bytes(4)), [1])
    ],
    (BASE | {"binding": None},                               "storage memory needs a binding number, got None"),
    (BASE | {"memory": Memory.UNIFORM, "binding": None},     "uniform memory needs a binding number, got None"),
    (OWN | {"memory": Memory.SCRATCH},                       "scratch memory needs a binding number, got None"),
    (OWN | {"memory": Memory.WORKGROUP, "binding": 0},       "workgroup memory has no binding number, got 0"),
    (BASE | {"binding": -1},                                 "binding -1 is not in 0 … 65535"),
    (BASE | {"binding": 2**16},                              "binding 65536 is not in 0 … 65535"),
    (BASE | {"count": -1},                                   "count -1 is not in 0 … 2**32 - 1"),
    (BASE | {"count": 2**32},                                "count 4294967296 is not in 0 … 2**32 - 1"),
    (OWN | {"memory": Memory.PRIVATE, "count": LengthOf("a")}, "private memory has no launch-time size, got "),
    (OUTPUT | {"count": LengthOf("a", 0)},                   "cannot be resolved"),
    (OUTPUT | {"count": LengthOf("a", 1, 0)},                "cannot be resolved"),
    (OUTPUT | {"count": LengthOf("a", 1, 1, -2**32)},        "cannot be resolved"),
    (OUTPUT | {"count": LengthOf("a", 1, 1, 0.5)},           "got the plus 0.5, expected an integer"),
    (OUTPUT | {"count": LengthOf(7)},                        "the rule follows 7, expected the name of a buffer"),
    (OUTPUT | {"count": PerLaunch(Per.WORKGROUP)},           "does not size storage memory"),
    (OWN | {"memory": Memory.SCRATCH, "binding": 0, "count": PerLaunch(Per.INVOCATION, 0)}, "does not size scratch"),
    (OUTPUT | {"count": RUNTIME},                            "no input is bound to it"),
    (OWN | {"memory": Memory.SCRATCH, "binding": 0, "count": RUNTIME}, "no input is bound to it"),
    (BASE | {"data": bytes(16)},                             "data belongs to constant memory, and only there"),
    (BASE | {"memory": Memory.CONSTANT, "binding": None},    "data belongs to constant memory, and only there"),
    (BASE | {"memory": Memory.CONSTANT, "binding": None, "data": bytes(15)}, "got 15 bytes of data for 4 elements"),
    (BASE | {"memory": Memory.UNIFORM, "access": Access.READ_WRITE}, "uniform memory cannot be written"),
    (OUTPUT | {"memory": Memory.CONSTANT, "binding": None, "data": bytes(16)}, "constant memory cannot be written"),
    (OWN | {"memory": Memory.PRIVATE, "access": Access.READ}, "private memory is both read and written"),
    (BASE | {"output_range": (0, 4)},                        "output range (0, 4) is not a range of an output"),
    (OUTPUT | {"output_range": (4, 0)},                      "output range (4, 0) is not a range of an output"),
    (OUTPUT | {"output_range": (-4, 4)},                     "output range (-4, 4) is not a range of an output"),
]
# fmt: on


@pytest.mark.parametrize("fields", ALLOWED)
def test_allowed(fields: dict[str, Any]) -> None:
    b = Buffer(**fields)
    assert all(getattr(b, name) == value for name, value in fields.items())
    assert b.name in repr(b)


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        Buffer(**fields)
    assert message in error.value.message
    assert str(error.value).startswith(f"buffer {fields['name']!r}: ")
    assert "Fix: " in str(error.value)


def test_who_sees_it() -> None:
    def seen(**fields: Any) -> tuple[bool, bool]:
        b = Buffer(**BASE | fields)
        return b.is_input, b.is_output

    assert seen() == (True, False)
    assert seen(access=Access.WRITE) == (False, True)
    assert seen(access=Access.READ_WRITE) == (True, True)
    assert seen(memory=Memory.UNIFORM) == (True, False)
    assert seen(memory=Memory.SCRATCH, access=Access.READ_WRITE) == (False, False)
    assert [memory for memory in Memory if memory.is_host_visible] == [Memory.STORAGE, Memory.UNIFORM]


def test_access() -> None:
    assert [(access.reads, access.writes) for access in Access] == [(True, False), (False, True), (True, True)]


@pytest.mark.parametrize(
    ("rule", "length", "count"),
    [
        (LengthOf("a"), 7, 7),
        (LengthOf("a", 3), 7, 21),
        (LengthOf("a", 1, 256), 0, 0),
        (LengthOf("a", 1, 256), 1, 1),
        (LengthOf("a", 1, 256), 256, 1),
        (LengthOf("a", 1, 256), 257, 2),
        (LengthOf("a", 3, 2, 1), 5, 9),
    ],
)
def test_lengths_that_follow(rule: LengthOf, length: int, count: int) -> None:
    assert rule.resolve(length) == count


def test_different_types_are_different_buffers() -> None:
    assert Buffer(**BASE | {"dtype": f32}) is not Buffer(**BASE | {"dtype": u8})
