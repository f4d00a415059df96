"""Records are what `dataclass` makes of the same classes."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from math import inf, nan
from typing import Any

import pytest

from vyre_foundation.record import _compiled, record

Make = Callable[[type], type]


def shapes(make: Any) -> dict[str, type]:
    """Classes with all that a dataclass may have, by name."""

    @make(frozen=True, slots=True)
    class Plain:
        """A few fields."""

        a: int
        b: object = "x"

        @property
        def double(self) -> int:
            return 2 * self.a

    @make(frozen=True, slots=True, kw_only=True)
    class Keywords:
        """Keywords."""

        a: int
        b: list[int] = field(default_factory=list, compare=False)
        c: int = 3

    @make(frozen=True, slots=True)
    class Mixed:
        """One that is hidden, one that is computed, one behind keywords."""

        a: int
        hidden: int = field(repr=False, default=1)
        made: list[int] = field(init=False, default_factory=list, compare=False)
        later: int = field(init=False)
        named: int = field(kw_only=True, default=4)

        def __post_init__(self) -> None:
            object.__setattr__(self, "later", self.a + self.hidden)

    @make(frozen=True, slots=True)
    class One:
        """One field."""

        a: object

    @make(frozen=True, slots=True)
    class Nothing:
        """No field."""

    @make(frozen=True, slots=True, eq=False)
    class Identity:
        """Equal to itself."""

        a: int

    @make(frozen=True, slots=True)
    class Own:
        """Methods of its own."""

        a: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 7

    @make(slots=True)
    class Mutable:
        """Fields that may change."""

        a: int
        b: list[int] = field(default_factory=list)
        c: int = field(init=False)

        def __post_init__(self) -> None:
            self.c = self.a

    @make(frozen=True, slots=True)
    class Derived(Plain):
        """Fields of a base, one of them with another default, and one more."""

        b: object = "y"
        c: int = 3

    return {cls.__name__: cls for cls in (Plain, Keywords, Mixed, One, Nothing, Identity, Own, Mutable, Derived)}


RECORDS, DATACLASSES = shapes(record), shapes(dataclass)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Plain", (1,), {}),
    ("Plain", (1, "b"), {}),
    ("Plain", (), {"b": 2, "a": 1}),
    ("Keywords", (), {"a": 1}),
    ("Keywords", (), {"a": 1, "b": [1], "c": 2}),
    ("Mixed", (1,), {}),
    ("Mixed", (1, 2), {"named": 5}),
    ("One", (inf,), {}),
    ("One", ([],), {}),
    ("Nothing", (), {}),
    ("Identity", (1,), {}),
    ("Own", (1,), {}),
    ("Mutable", (1,), {}),
    ("Mutable", (1, [2]), {}),
    ("Derived", (1,), {}),
    ("Derived", (1, 2), {"c": 4}),
]


@pytest.mark.parametrize(("name", "args", "keywords"), CALLS)
def test_an_object_is_that_of_a_dataclass(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    made, same = (RECORDS[name](*args, **keywords) for _ in range(2))
    wanted, as_wanted = (DATACLASSES[name](*args, **keywords) for _ in range(2))
    assert repr(made) == repr(wanted)
    assert dataclasses.asdict(made) == dataclasses.asdict(wanted)
    assert (made == same) == (wanted == as_wanted)
    assert (made == wanted) is False
    assert outcome(lambda: hash(made) == hash(same)) == outcome(lambda: hash(wanted) == hash(as_wanted))
    assert not hasattr(made, "__dict__")


def test_a_record_equals_one_of_the_same_objects() -> None:
    """As tuples do; dataclasses did until Python 3.13, where one with a NaN is unequal to itself."""
    one = RECORDS["One"]
    assert one(nan) == one(nan)
    assert one(nan) != one(float("nan"))


@pytest.mark.parametrize("name", RECORDS)
def test_a_class_is_that_of_a_dataclass(name: str) -> None:
    made, wanted = RECORDS[name], DATACLASSES[name]
    assert str(inspect.signature(made)) == str(inspect.signature(wanted))
    assert made.__match_args__ == wanted.__match_args__  # type: ignore[attr-defined]
    assert made.__slots__ == wanted.__slots__  # type: ignore[attr-defined]
    assert made.__doc__ == wanted.__doc__
    assert [told(field) for field in dataclasses.fields(made)] == [told(field) for field in dataclasses.fields(wanted)]
    assert (made.__qualname__, made.__module__) == (wanted.__qualname__, wanted.__module__)


@pytest.mark.parametrize(
    ("name", "args", "keywords"), [("Plain", (), {}), ("Plain", (1, 2, 3), {}), ("Keywords", (1,), {}), ("One", (), {})]
)
def test_wrong_arguments_are_refused(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    for made in (RECORDS[name], DATACLASSES[name]):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            made(*args, **keywords)


def test_a_record_is_frozen() -> None:
    made = RECORDS["Plain"](1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        made.a = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        del made.a
    assert made.double == 2


def test_a_record_that_may_change_does() -> None:
    made, same = RECORDS["Mutable"](1), RECORDS["Mutable"](1)
    made.b.append(5)
    made.a = 2
    assert (made.a, made.b, made.c) == (2, [5], 1)
    assert made != same
    with pytest.raises(AttributeError):
        made.other = 1
    assert copy.deepcopy(made) == made


def test_an_init_is_made_when_it_is_needed() -> None:
    @record(frozen=True, slots=True)
    class Base:
        """Not used but through what comes after it."""

        a: int

    class Derived(Base):
        """Without an `__init__` of its own."""

        __slots__ = ()

    before = vars(Base)["__init__"]
    assert not inspect.isfunction(before)
    assert (Derived(1).a, Derived(a=2).a, Base(3).a) == (1, 2, 3)
    assert inspect.isfunction(vars(Base)["__init__"])
    assert "__init__" not in vars(Derived)
    kept = Base.__new__(Base)
    before.__get__(kept, Base)(4)  # who has looked it up before
    assert kept.a == 4


def test_a_record_is_replaced_matched_and_copied() -> None:
    made = dataclasses.replace(RECORDS["Plain"](1), b=5)
    assert made == RECORDS["Plain"](1, 5)
    match made:
        case object(a=1, b=b):
            assert b == 5
    assert copy.deepcopy(made) == made
    assert [f.name for f in dataclasses.fields(made)] == ["a", "b"]


@record(frozen=True, slots=True)
class Pickled:
    """Known by name."""

    a: int
    b: tuple[int, ...] = ()


def test_a_record_can_be_pickled() -> None:
    made = Pickled(1, (2, 3))
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301


def test_records_with_as_many_fields_have_one_code() -> None:
    """But for its names: an `__init__` is compiled for the first of them alone."""

    @record(frozen=True, slots=True)
    class First:
        a: int
        b: int = 1

    @record(frozen=True, slots=True, kw_only=True)
    class Second:
        c: list[int]
        d: int

    First(1)
    compiled = _compiled.cache_info().misses
    made = Second(c=[1], d=2)
    assert _compiled.cache_info().misses == compiled
    assert (made.c, made.d) == ([1], 2)
    assert (First(3), First(3, b=4).b) == (First(3, 1), 4)


def test_what_is_no_record_is_refused() -> None:
    @dataclass
    class Other:
        a: int

    with pytest.raises(TypeError, match="Other has fields and is no record"):

        @record(slots=True)
        class Mixture(Other):
            b: int

    @record(slots=True)
    class Disordered:
        a: int = 1
        b: int  # type: ignore[misc]

    with pytest.raises(TypeError, match="non-default argument 'b' follows default argument"):
        Disordered(1, 2)


def told(field: dataclasses.Field[Any]) -> tuple[object, ...]:
    return (field.name, field.type, field.init, field.repr, field.compare, field.kw_only, field.default)


def outcome(ask: Callable[[], bool]) -> object:
    try:
        return ask()
    except TypeError as error:
        return str(error)
