"""Launches in the calling thread that are not known to end soon: the interpreter is asked meanwhile whether to go on.

The thread releases the interpreter's lock. Every 20 milliseconds it takes the lock for a moment: then the interpreter
handles signals, such as Ctrl-C, and a function of the driver may raise an error, such as that of a device that another
thread closes. An error ends the launch, and the call raises it. All functions of the interpreter that this needs belong
to its stable interface for extensions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from vyre_driver_cpu.launch import Arguments
from vyre_driver_cpu.runtime import native

FOREVER = (1 << 62) - 1
ASKING_NS = 20_000_000
"""Nanoseconds between two questions to the interpreter."""
HANDING_OVER_NS = 30_000
PASSED_OVER = 15
"""Calls that leave all of a launch to the threads after one that could not end it."""
_INTERFACE = {
    "save": ctypes.pythonapi.PyEval_SaveThread,
    "restore": ctypes.pythonapi.PyEval_RestoreThread,
    "signals": ctypes.pythonapi.PyErr_CheckSignals,
    "call": ctypes.pythonapi.PyObject_CallNoArgs,
    "release": ctypes.pythonapi.Py_DecRef,
}


class _Host(ctypes.Structure):
    """What `runtime.ll` asks, and what it keeps for that."""

    _fields_ = (
        ("ask", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in _INTERFACE),
        ("callable", ctypes.py_object),
        ("state", ctypes.c_void_p),
        ("next", ctypes.c_int64),
        ("stop", ctypes.c_void_p),
        ("interval", ctypes.c_int64),
    )


class CallerLaunch:
    """One kernel over its arguments, of which one call runs at a time. `asked` may raise, which ends the launch.

    If it `ends_here`, a call runs all of it. Otherwise a call gives up after `HANDING_OVER_NS`, about what it costs to
    hand the rest over to threads; if so, most calls that follow leave all of it to them. `done` is how many workgroups
    the last call has run.
    """

    __slots__ = ("_begin", "_call", "_ends_here", "_host", "_passed_over", "done")

    def __init__(self, kernel: int, arguments: Arguments, asked: Callable[[], object], *, ends_here: bool) -> None:
        interface = {name: ctypes.cast(function, ctypes.c_void_p) for name, function in _INTERFACE.items()}
        self._host = _Host(ask=native().addresses["ask"], callable=asked, interval=ASKING_NS, **interface)
        self._begin, self._ends_here = _begin(), ends_here
        places = arguments.slots_address, arguments.grid_address
        self._call = ctypes.addressof(self._host), kernel, *places, arguments.total
        self._passed_over, self.done = 0, 0

    def begin(self, _address: int) -> None:
        """Run workgroups. It is called as a kernel is, with the address of the arguments, and has that already."""
        if self._passed_over:
            self._passed_over, self.done = self._passed_over - 1, 0
            return
        self.done = self._begin(*self._call, FOREVER if self._ends_here else HANDING_OVER_NS)
        self._passed_over = PASSED_OVER if self.done < self._call[-1] else 0


@cache
def _begin() -> Callable[..., Any]:
    pointer, wide = ctypes.c_void_p, ctypes.c_int64
    return native().locked_function("begin", pointer, pointer, pointer, pointer, wide, wide, result=wide)
