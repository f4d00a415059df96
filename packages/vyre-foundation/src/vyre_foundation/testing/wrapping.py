"""Integers that wrap around, so that tests can run the source of a kernel as Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Wrapping(int):
    """An integer modulo 2**32, and so is what its operators give: a u32 of a program."""


def _wrapped(name: str) -> Callable[[Any, Any], Any]:
    plain = getattr(int, name)

    def method(x: Wrapping, y: object) -> object:
        return Wrapping(plain(int(x), int(y)) % 2**32) if isinstance(y, int) else NotImplemented

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor"):
    for _prefix in ("__", "__r"):
        setattr(Wrapping, f"{_prefix}{_name}__", _wrapped(f"{_prefix}{_name}__"))
