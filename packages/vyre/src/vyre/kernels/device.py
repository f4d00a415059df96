"""Device functions: functions that kernels call, and that are inlined there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from vyre.kernels.source import FunctionSource, source_of
from vyre_foundation.errors import BuildError


class HostCallable:
    """What the host calls, and kernels cannot: a kernel."""


class DeviceFunction:
    """A function that kernels call. Made by `func`."""

    __name__: str

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.source: FunctionSource = source_of(function)
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<device function {self.__name__!r}>"

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse the call: only kernels can make it."""
        raise BuildError(
            f"the device function {self.__name__!r} is called outside of a kernel",
            fix="call it in a function with @vy.kernel or @vy.func",
        )


def func(function: Callable[..., Any]) -> Any:
    """Make a function that kernels call: its body is read in the place of each call.

    Args:
        function: Made by ``def``. Parameters may have types, which their arguments are checked against.

    Returns:
        The function, which can be called in kernels alone.

    Raises:
        BuildError: It is no such function, or its source is not there.
    """
    return DeviceFunction(function)
