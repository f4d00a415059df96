"""Calls of the runtime that may take long, for threads of their own (`AsyncCall`).

A thread that blocks in a wait also works for the runtime, on some CPU devices: one that looks again and again instead
costs a core. PyOpenCL takes the interpreter's lock on its way out of a call, which ends the process with SIGABRT where
the interpreter has ended meanwhile (seen with Python 3.11; from 3.14 on such threads sleep for ever), and keeps it
while a kernel is enqueued. So the runtime is called through `ctypes`, which a thread can end in.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import pyopencl as cl

# ── what is called ───────────────────────────────────────────────────────────────────────────────────────────────────


def wait(event: cl.Event) -> None:
    """Wait until an event has come, well or not."""
    function = _function("clWaitForEvents")
    if function is None:
        with suppress(cl.Error):
            event.wait()
    else:
        function(ctypes.c_uint(1), ctypes.byref(ctypes.c_void_p(event.int_ptr)))


def program_of(context: cl.Context, source: bytes) -> cl.Program:
    """A program that is not built. Built by `build`, it is not looked for in a cache of PyOpenCL."""
    function = _function("clCreateProgramWithSource", ctypes.c_void_p)
    if function is None:
        return cl.Program(context, source)
    status, text = ctypes.c_int(), ctypes.c_char_p(source)
    address = function(
        ctypes.c_void_p(context.int_ptr), ctypes.c_uint(1), ctypes.byref(text), None, ctypes.byref(status)
    )
    program: cl.Program = cl.Program.from_int_ptr(address, retain=False)
    return program


def build(program: cl.Program, device: cl.Device, options: Sequence[str]) -> int:
    """Build a program for one device: the runtime's status."""
    function = _function("clBuildProgram")
    if function is None:
        try:
            program.build(list(options), [device])
        except cl.Error as error:
            return int(error.code)
        return 0
    words = " ".join(options).encode()
    devices = ctypes.byref(ctypes.c_void_p(device.int_ptr))
    return int(function(ctypes.c_void_p(program.int_ptr), ctypes.c_uint(1), devices, words, None, None))


def enqueue(queue: cl.CommandQueue, kernel: cl.Kernel, span: tuple[int, ...], local: tuple[int, ...]) -> int | cl.Event:
    """Enqueue a kernel: its event, or the runtime's status where it refuses."""
    function = _function("clEnqueueNDRangeKernel")
    if function is None:
        try:
            return cl.enqueue_nd_range_kernel(queue, kernel, span, local)
        except cl.Error as error:
            return int(error.code)
    axes, event = ctypes.c_size_t * len(span), ctypes.c_void_p()
    reached = function(
        ctypes.c_void_p(queue.int_ptr),
        ctypes.c_void_p(kernel.int_ptr),
        ctypes.c_uint(len(span)),
        None,
        axes(*span),
        axes(*local),
        ctypes.c_uint(0),
        None,
        ctypes.byref(event),
    )
    return int(reached) if reached else cl.Event.from_int_ptr(event.value or 0, retain=False)


@cache
def _function(name: str, result: Any = ctypes.c_int) -> Any:
    """A function of the loader that PyOpenCL uses; None if that is in no library of its own."""
    with suppress(AttributeError, OSError):
        found = getattr(ctypes.CDLL(inspect.getfile(cl.Context)), name)
        found.restype = result
        return found
    return None
