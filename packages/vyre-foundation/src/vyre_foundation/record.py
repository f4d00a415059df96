"""Records: dataclasses with slots, frozen or not, made in a tenth of the time.

`dataclasses.dataclass` writes and compiles up to eight methods for every class, which takes 0.3 ms. There are more than
a hundred records on the way from `import vyre` to the first result, so that was a sixth of a short process. Here only
`__init__` is compiled for a class, when the first object is made, and it sets slots directly; most classes of a short
process never have one. The other methods are the same for all.

A record is a dataclass for `fields`, `replace`, `match`, type checkers and pickle.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["record"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as record
else:

    def record(*, slots: bool, frozen: bool = False, eq: bool = True, kw_only: bool = False) -> Callable[[type], type]:
        """``@record(frozen=True, slots=True)``: what `dataclass` with these arguments makes of a class."""
        assert slots
        return lambda cls: _made(cls, frozen=frozen, eq=eq, kw_only=kw_only)


def _made(cls: type, *, frozen: bool, eq: bool, kw_only: bool) -> type:
    if cls.__doc__ is None:
        cls.__doc__ = f"{cls.__name__}({', '.join(vars(cls).get('__annotations__', ()))})"
    own = {"__init__", "__repr__", "__eq__", "__hash__"} & vars(cls).keys()
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    shared: dict[str, Any] = {"__init__": _Init(made), "__repr__": _repr}
    if eq:
        shared |= _equality([field.name for field in dataclasses.fields(made) if field.compare], frozen=frozen)
    for name, method in shared.items():
        if name not in own:
            setattr(made, name, method)
    if frozen:
        made.__setattr__, made.__delattr__ = _set, _delete
        made.__getstate__, made.__setstate__ = _state, _restore
    return made  # type: ignore[no-any-return]


class _Init:
    """The `__init__` of a record until somebody asks for it: then it is compiled and takes its own place."""

    __slots__ = ("_made",)

    def __init__(self, made: Any) -> None:
        self._made = made

    def __get__(self, instance: object, owner: type) -> Any:
        init = self._made.__init__ = _init(self._made)
        return init if instance is None else init.__get__(instance)


class _Missing:
    """The argument of a parameter whose default is made anew for every call."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING = _Missing()


def _init(made: Any) -> Callable[..., None]:
    """Sets the attributes of a record from arguments, defaults and factories; a frozen one by its slots themselves."""
    fields, setting = dataclasses.fields(made), "self.{0} = {1}"
    if made.__setattr__ is _set:
        setting = "set_{0}(self, {1})"
    known: dict[str, Any] = {"missing": _MISSING}
    positional: list[str] = []
    keywords: list[str] = []
    lines: list[str] = []
    for field in fields:
        name, value = field.name, field.name
        known[f"set_{name}"] = getattr(made, name).__set__
        known[f"default_{name}"] = _MISSING if field.default is MISSING else field.default
        known[f"make_{name}"] = field.default_factory
        if field.default_factory is not MISSING:
            value = f"make_{name}() if {name} is missing else {name}" if field.init else f"make_{name}()"
        elif not field.init:
            if field.default is MISSING:
                continue
            value = f"default_{name}"
        if field.init:
            is_optional = field.default is not MISSING or field.default_factory is not MISSING
            (keywords if field.kw_only else positional).append(f"{name}=default_{name}" if is_optional else name)
        lines.append(f"    {setting.format(name, value)}")
    if hasattr(made, "__post_init__"):
        lines.append("    self.__post_init__()")
    parameters = ", ".join(("self", *positional, *(("*", *keywords) if keywords else ())))
    exec("\n".join((f"def __init__({parameters}):", *lines, "    return None")), known)
    init: Any = known["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return init  # type: ignore[no-any-return]


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
    shown = [f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _set(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
