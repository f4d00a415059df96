"""Functions of callers as keys of caches: a function that is made anew by each call is traced once.

Two functions give one program if they have the same code, and if everything that the code refers to has the same value:
the variables of the functions around it, its defaults and its global names. That is decided only for values that cannot
change: numbers, texts, types of the language, tuples of these, functions of this kind, and modules and functions of
vyre and `math`. A function that refers to anything else is equal only to itself.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from vyre_foundation import DType

_PURE = frozenset(
    "abs all any bool divmod enumerate float int len max min pow range reversed round sorted sum tuple zip".split()
)
"""Functions of Python whose results depend on their arguments alone."""
_ORIGINS = frozenset(("math", "vyre", "vyre_algorithms", "vyre_foundation", "vyre_math"))
_ATOMS = frozenset((bool, int, str, bytes, type(None), DType))

_ATTRIBUTES, _CHANGES = frozenset(("LOAD_ATTR", "LOAD_METHOD")), frozenset(("STORE_DEREF", "DELETE_DEREF"))
"""Of the instructions that have names, those that load attributes; and those that change variables of functions."""


class TracedFunction:
    """A function of values that is equal to another one if both give the same program.

    A cache that is keyed by it must call the one that it is passed: variables of an older one may have changed.
    """

    __slots__ = ("_hash", "_key", "function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        try:
            self._key = _first(_key(function, ()))
        except _Changeable:
            self._key = function
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracedFunction) and (self._key is other._key or self._key == other._key)

    def __hash__(self) -> int:
        return self._hash


@lru_cache(maxsize=1024)
def _first(key: Hashable) -> Hashable:
    """The first of equal keys: comparing the code of functions takes longer than comparing identities."""
    return key


class _Changeable(Exception):
    """A value may change, or it is not known whether it does."""


def _key(value: Any, inside: tuple[object, ...]) -> Hashable:
    """A key that equal values of the same type have; `inside` are the functions that refer to a value."""
    kind = type(value)
    if kind in _ATOMS:
        return kind, value
    if kind is float:
        return kind, value.hex()  # which tells zeros apart, and is the same for each NaN
    if isinstance(value, np.generic) and value.dtype.kind in "biufV":
        return kind, value.tobytes()
    if kind is tuple:
        return kind, *(_key(element, inside) for element in value)
    if kind is ModuleType and _origin(value.__name__) in _ORIGINS:
        return kind, value.__name__
    if kind in (FunctionType, BuiltinFunctionType) and _origin(value.__module__) in _ORIGINS:
        return kind, value
    if kind is FunctionType and value not in inside:
        return kind, value.__code__, *(_key(part, (*inside, value)) for part in _referred(value))
    raise _Changeable


def _origin(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _referred(function: FunctionType) -> Iterator[object]:
    """The values that a function refers to."""
    try:
        yield tuple([cell.cell_contents for cell in function.__closure__ or ()])
    except ValueError:  # a variable without a value
        raise _Changeable from None
    yield function.__defaults__
    yield tuple((function.__kwdefaults__ or {}).items())
    names = _global_names(function.__code__)
    if names is None:
        raise _Changeable
    for name in sorted(names):
        if name in function.__globals__:
            yield function.__globals__[name]
        elif name not in _PURE or not hasattr(builtins, name):
            raise _Changeable


@lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> frozenset[str] | None:
    """The global names that code and the functions in it load; None if it changes variables, or imports."""
    found: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found.add(step.argval)
        elif step.opname in _CHANGES or (step.opcode in dis.hasname and step.opname not in _ATTRIBUTES):
            return None
        if isinstance(step.argval, CodeType):
            inner = _global_names(step.argval)
            if inner is None:
                return None
            found |= inner
    return frozenset(found)
