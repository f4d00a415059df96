"""Records: dataclasses with slots, frozen or not, made in a twentieth of the time.

`dataclasses.dataclass` reads the annotations of a class, writes up to eight methods and compiles each, which takes
0.3 ms. There are more than a hundred records on the way from `import vyre` to the first result, so that was a sixth of
a short process. Here a class gets its slots, and all else when somebody asks for it: `__init__` with the first object,
which most classes of a short process never have, and what the standard library keeps of its fields with the first
`fields` or `replace`. The `__init__` of two records with as many fields differ in names alone, so one of them is
compiled; those of frozen records set the slots directly. The other methods are the same for all.

A record is a dataclass for `fields`, `replace`, `match`, type checkers and pickle. All of its annotations are fields:
there is no `ClassVar`, `InitVar` or `KW_ONLY` among them, and its bases have no fields unless they are records.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["record"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass as record
else:

    def record(*, slots: bool, frozen: bool = False, eq: bool = True, kw_only: bool = False) -> Callable[[type], type]:
        """``@record(frozen=True, slots=True)``: what `dataclass` with these arguments makes of a class."""
        assert slots
        return lambda cls: _made(cls, frozen=frozen, eq=eq, kw_only=kw_only)


def _made(cls: type, *, frozen: bool, eq: bool, kw_only: bool) -> type:
    types, body = cls.__annotations__, dict(vars(cls))
    own = _Own(types, {name: body.pop(name) for name in types if name in body}, kw_only)
    inherited = _fields(cls.__mro__[1:])
    fields = inherited | own.fields()
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    body["__doc__"] = cls.__doc__ or f"{cls.__name__}({', '.join(types)})"
    body["__slots__"] = tuple([name for name in types if name not in inherited])
    body["__match_args__"] = tuple([name for name, field in fields.items() if field.is_given and not field.is_keyword])
    body["__dataclass_fields__"] = own
    shared: dict[str, Any] = {"__init__": _Init(), "__repr__": _repr}
    if eq:
        shared |= _equality([name for name, field in fields.items() if field.is_compared], frozen=frozen)
    if frozen:
        shared |= {"__setattr__": _set, "__delattr__": _delete, "__getstate__": _state, "__setstate__": _restore}
    made = type(cls)(cls.__name__, cls.__bases__, shared | body)
    made.__qualname__ = cls.__qualname__
    return made


class _Field:
    """What a class says of a field: its default or `MISSING`, or what `dataclasses.field` has made."""

    __slots__ = ("default", "factory", "is_compared", "is_given", "is_keyword", "is_shown", "type")

    def __init__(self, type: Any, said: Any, kw_only: bool) -> None:
        self.type, self.default, self.is_keyword = type, said, kw_only
        self.factory: Any = MISSING
        self.is_given = self.is_compared = self.is_shown = True
        if isinstance(said, dataclasses.Field):
            self.default, self.factory = said.default, said.default_factory
            self.is_given, self.is_compared, self.is_shown = said.init, said.compare, said.repr
            self.is_keyword = kw_only if said.kw_only is MISSING else said.kw_only

    def argument(self) -> Any:
        """What stands for an argument that is left out, `MISSING` if it may not be."""
        return self.default if self.factory is MISSING else _MISSING


class _Own:
    """The fields that a record adds to those of its bases, in the place of what the standard library keeps of them: it
    makes that itself, of a class that has nothing but the fields, when somebody asks for it."""

    __slots__ = ("_is_kw_only", "_made", "_read", "_said", "_types")

    def __init__(self, types: dict[str, Any], said: dict[str, Any], kw_only: bool) -> None:
        self._types, self._said, self._is_kw_only = types, said, kw_only
        self._read: dict[str, dataclasses.Field[Any]] | None = None

    def __set_name__(self, made: Any, name: str) -> None:
        self._made = made

    def fields(self) -> dict[str, _Field]:
        said, is_kw_only = self._said, self._is_kw_only
        return {name: _Field(type, said.get(name, MISSING), is_kw_only) for name, type in self._types.items()}

    def __get__(self, instance: object, owner: type) -> dict[str, dataclasses.Field[Any]]:
        if self._read is None:
            made = self._made
            bases = tuple([base for base in made.__bases__ if hasattr(base, "__dataclass_fields__")])
            body = {"__annotations__": self._types, "__doc__": made.__doc__, "__module__": made.__module__}
            read: Any = type(made.__name__, bases, body | self._said)
            dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self._is_kw_only)(read)
            made.__dataclass_params__, self._read = read.__dataclass_params__, read.__dataclass_fields__
        return self._read


def _fields(order: tuple[type, ...]) -> dict[str, _Field]:
    """The fields of classes, which are in the order of resolution, as they come in `__init__`."""
    found: dict[str, _Field] = {}
    for cls in reversed(order):
        own = vars(cls).get("__dataclass_fields__")
        if isinstance(own, _Own):
            found |= own.fields()
        elif own is not None:
            raise TypeError(f"{cls.__qualname__} has fields and is no record")
    return found


class _Init:
    """The `__init__` of a record until somebody asks for it: then it is made and takes its own place."""

    __slots__ = ("_made",)

    def __set_name__(self, made: Any, name: str) -> None:
        self._made = made

    def __get__(self, instance: object, owner: type) -> Any:
        init = self._made.__init__ = _init(self._made)
        return init if instance is None else init.__get__(instance)


class _Missing:
    """The argument of a parameter whose default is made anew for every call."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING = _Missing()


def _init(made: Any) -> FunctionType:
    """Sets the attributes of a record from arguments, defaults and factories; a frozen one by its slots themselves.

    The n-th field is called ``fn`` in the text, and in the code that is compiled of it by its name.
    """
    fields = _fields(made.__mro__)
    short = {name: f"f{i}" for i, name in enumerate(fields)}
    given = {name: field for name, field in fields.items() if field.is_given}
    positional = {name: field.argument() for name, field in given.items() if not field.is_keyword}
    keywords = {name: field.argument() for name, field in given.items() if field.is_keyword}
    parameters = ", ".join(["self", *[short[name] for name in (*positional, *keywords)]])
    lines = _statements(fields, is_frozen=made.__setattr__ is _set, has_more=hasattr(made, "__post_init__"))
    code = _compiled("\n    ".join((f"def __init__({parameters}):", *lines)))
    long = {short[name]: name for name in fields}
    code = code.replace(
        co_argcount=1 + len(positional),
        co_kwonlyargcount=len(keywords),
        co_varnames=tuple([long.get(name, name) for name in code.co_varnames]),
        co_names=tuple([long.get(name, name) for name in code.co_names]),
    )
    known: dict[str, Any] = {"missing": _MISSING}
    for name, field in fields.items():
        n = short[name]
        known |= {f"set_{n}": getattr(made, name).__set__, f"make_{n}": field.factory, f"default_{n}": field.default}
    init = FunctionType(code, known, "__init__", _defaults(positional))
    init.__kwdefaults__ = {name: argument for name, argument in keywords.items() if argument is not MISSING}
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {name: field.type for name, field in given.items()} | {"return": None}
    return init


def _statements(fields: dict[str, _Field], *, is_frozen: bool, has_more: bool) -> Iterator[str]:
    setting = "set_f{0}(self, {1})" if is_frozen else "self.f{0} = {1}"
    for i, field in enumerate(fields.values()):
        if field.factory is not MISSING:
            value = f"make_f{i}() if f{i} is missing else f{i}" if field.is_given else f"make_f{i}()"
            yield setting.format(i, value)
        elif field.is_given or field.default is not MISSING:
            yield setting.format(i, f"f{i}" if field.is_given else f"default_f{i}")
    yield "self.__post_init__()" if has_more else "return None"


def _defaults(positional: dict[str, Any]) -> tuple[Any, ...]:
    """The defaults of parameters; TypeError if one without follows one that has one."""
    defaults = [argument for argument in positional.values() if argument is not MISSING]
    for name in list(positional)[len(positional) - len(defaults) :]:
        if positional[name] is MISSING:
            raise TypeError(f"non-default argument {name!r} follows default argument")
    return tuple(defaults)


@cache
def _compiled(text: str) -> CodeType:
    made: dict[str, Any] = {}
    exec(text, made)
    code: CodeType = made["__init__"].__code__
    return code


def _equality(names: list[str], *, frozen: bool) -> dict[str, Any]:
    """Records of one class are equal if the fields with these names are; those that may change have no hash."""
    get: Callable[[Any], Any] = lambda self: tuple([getattr(self, name) for name in names])
    if len(names) > 1:
        get = attrgetter(*names)

    def __eq__(self: Any, other: Any) -> Any:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(get(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _repr(self: Any) -> str:
    shown = [f"{name}={getattr(self, name)!r}" for name, field in _fields(type(self).__mro__).items() if field.is_shown]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _set(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in _fields(type(self).__mro__)]


def _restore(self: Any, state: list[Any]) -> None:
    for name, value in zip(_fields(type(self).__mro__), state, strict=True):
        object.__setattr__(self, name, value)
