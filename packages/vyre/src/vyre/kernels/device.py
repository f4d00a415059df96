"""Device functions: functions that kernels call, and that are inlined there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from vyre.kernels.decorated import plain_source_of, refuse_options
from vyre.kernels.source import FunctionSource
from vyre_foundation.errors import BuildError


class HostCallable:
    """What the host calls, and kernels cannot: a kernel."""


class DeviceFunction:
    """A function that kernels call. Made by `func`."""

    __name__: str

    def __init__(self, source: FunctionSource) -> None:
        self.source, self.function = source, source.function
        functools.update_wrapper(self, source.function)

    def __repr__(self) -> str:
        return f"<device function {self.__name__!r}>"

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
