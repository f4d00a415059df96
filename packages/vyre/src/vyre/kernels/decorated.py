"""Functions with other decorators: a kernel is compiled from the source of its function, which those do not change."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from vyre.kernels.source import FunctionSource, closure_of, path_of, source_of
from vyre_foundation.errors import BuildError

_HASHING = "finds what it has computed by the hashes of the arguments, which arrays do not have"
_ONCE = "leave it out: a kernel is compiled once"
_PASSING = "passes an object before the arguments, for which there is no parameter"
_STATIC = "write @staticmethod in its place, above the others"
_REFUSED: Mapping[object, tuple[str, str]] = {
    functools.lru_cache: (_HASHING, _ONCE),
    functools.cache: (_HASHING, _ONCE),
    classmethod: (_PASSING, _STATIC),
    property: (_PASSING, _STATIC),
    functools.cached_property: (_PASSING, _STATIC),
}
"""Decorators that break the calls of what they decorate: why, and what to write instead."""
_SHAPE = "state the shape of the launch, one invocation for each element, as in @vy.kernel(shape='n')"
_INSTEAD: Mapping[str, str] = {
    "grid": _SHAPE,
    "invocations": _SHAPE,
    "block": "write workgroup_size",
    "local_size": "write workgroup_size",
    "threads": "write workgroup_size",
    "device": "write backend",
    "config": "pass it to the kernel, as in f.on(config=…)",
}
"""What other languages, or other calls of vyre, call the options of a kernel."""


def plain_source_of(given: object, *, fix: str) -> FunctionSource:
    """Read the source of a function, and refuse other decorators that wrap it, or that break its calls.

    Args:
        given: What is decorated.
        fix: What to do with another one that wraps the function.

    Raises:
        KernelError: Another decorator is in the way; the error points at it.
        BuildError: As for `source_of`.
    """
    plain = inspect.unwrap(given) if callable(given) else getattr(given, "__wrapped__", given)
    source = source_of(plain if inspect.isfunction(plain) else given)
    nodes = source.tree.decorator_list
    named = [_named(node, source) for node in nodes]
    for node, found in zip(nodes, named, strict=True):
        why, instead = (
            _REFUSED.get(found, ("", "")) if inspect.isroutine(found) or isinstance(found, type) else ("", "")
        )
        if why:
            raise source.error(node, f"the decorator {ast.unparse(node)!r} {why}", instead)
    if plain is given:
        return source
    below = next((at for at, found in enumerate(named, 1) if _is_of_vyre(found)), 0)
    name = source.tree.name
    if below == len(nodes):
        message = f"{name!r} is wrapped, and a kernel is compiled from the source of the function itself"
        raise source.error(source.tree, message, "pass the function itself")
    node, found = nodes[below], named[below]
    if found is staticmethod:
        fix = "write it above the others"
    elif _is_of_vyre(found):
        fix = "leave one of them out"
    message = (
        f"the decorator {ast.unparse(node)!r} wraps {name!r}, which is compiled from the source of the function itself"
    )
    raise source.error(node, message, fix)


def refuse_options(decorator: str, given: Iterable[str], known: Sequence[str] = ()) -> None:
    """Refuse options that a decorator of vyre does not have, with what there is instead."""
    for name in given:
        longer = next((f"write {option}" for option in known if name in option), "leave it out")
        fix = _INSTEAD.get(name, longer) if known else longer
        expected = f"one of {', '.join(known)}" if known else "none"
        raise BuildError(f"got the option {name!r} of @vy.{decorator}, expected {expected}", fix=fix)


def _is_of_vyre(decorator: object) -> bool:
    """Whether a decorator is `vyre.kernel`, what this makes of options, or another one of vyre."""
    return getattr(decorator, "__module__", "").startswith("vyre.")


def _named(node: ast.expr, source: FunctionSource) -> object:
    """What a decorator is, or what makes it where it is a call; None if the function does not see its name."""
    path = path_of(node.func if isinstance(node, ast.Call) else node)
    if path is None:
        return None
    first, *attributes = path.split(".")
    found = ChainMap(closure_of(source.function), source.function.__globals__, vars(builtins)).get(first)
    for attribute in attributes:
        found = getattr(found, attribute, None)
    return found
