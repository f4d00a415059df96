"""Device functions: functions that kernels call, and that are inlined there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn, Self

from vyre.kernels.decorated import plain_source_of, refuse_options
from vyre.kernels.source import FunctionSource
from vyre_foundation.errors import BuildError


class Unchanging:
    """A kernel or a part of one. It does not change, so it is its own copy, as a function is."""

    __module__: str

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def global_name(self) -> str | None:
        """The name by which `pickle` finds it in its module; None if it does not, or if the module is the script.

        The script is `__main__` in its own process alone, so another process does not find its names.
        """
        try:
            found: object = import_module(self.__module__)
        except ImportError:
            return None
        name: str = getattr(self, "__qualname__", "") or getattr(self, "__name__", "")
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self and self.__module__ != "__main__" else None


class Routine(Unchanging):
    """What is made of a function. Tools that document a module take it for one, because it has `__get__`."""

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        """Give the object itself, also as an attribute of an instance, which is not passed to it."""
        return self


class HostCallable(Unchanging):
    """What the host calls, and kernels cannot: a kernel."""


class DeviceFunction(Routine):
    """A function that kernels call. Made by `func`."""

    __name__: str

    def __init__(self, source: FunctionSource) -> None:
        self.source, self.function = source, source.function
        functools.update_wrapper(self, source.function)

    def __repr__(self) -> str:
        return f"<device function {self.__name__!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.global_name() or super().__reduce_ex__(protocol)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse the call: only kernels can make it."""
        raise BuildError(
            f"the device function {self.__name__!r} is called outside of a kernel",
            fix="call it in a function with @vy.kernel or @vy.func",
        )


def func(function: Callable[..., Any] | None = None, /, **options: object) -> Any:
    """Make a function that kernels call; each call is inlined.

    Args:
        function: Made by ``def``. Parameters may have types, which their arguments are checked against.
        **options: Not accepted: the decorator has none.

    Returns:
        The function, which can be called only in kernels.

    Raises:
        KernelError: Another decorator wraps it.
        BuildError: It is not such a function, or its source is not available.
    """
    refuse_options("func", options)
    if function is None:
        raise BuildError("got no function, expected one", fix="write @vy.func, without parentheses")
    return DeviceFunction(plain_source_of(function, fix="leave it out"))
