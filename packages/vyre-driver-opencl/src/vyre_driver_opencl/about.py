"""What OpenCL knows of its objects: `ask`, and the questions that more than one module has."""

from __future__ import annotations

from typing import Any, Protocol

from vyre_driver_opencl.api import cl


class Known(Protocol):
    """A platform, device, context, queue, program or event."""

    def get_info(self, what: Any, /) -> object: ...


def ask(known: Known, what: object) -> Any:
    """The answer to `what`, a number of the object's own kind: `cl.device_info.NAME`. Its type depends on that."""
    return known.get_info(what)


def name(device: cl.Device) -> str:
    said: str = ask(device, cl.device_info.NAME)
    return said.strip()


def kind(device: cl.Device) -> int:
    """Bits of `cl.device_type`."""
    bits: int = ask(device, cl.device_info.TYPE)
    return bits


def is_cpu(device: cl.Device) -> bool:
    return bool(kind(device) & cl.device_type.CPU)


def is_pocl(device: cl.Device) -> bool:
    return "PoCL" in platform_version(device)


def compute_units(device: cl.Device) -> int:
    count: int = ask(device, cl.device_info.MAX_COMPUTE_UNITS)
    return count


def platform(device: cl.Device) -> cl.Platform:
    found: cl.Platform = ask(device, cl.device_info.PLATFORM)
    return found


def platform_version(device: cl.Device) -> str:
    said: str = ask(platform(device), cl.platform_info.VERSION)
    return said


def device_of(queue: cl.CommandQueue) -> cl.Device:
    found: cl.Device = ask(queue, cl.command_queue_info.DEVICE)
    return found


def status(event: cl.Event) -> int:
    """Of `cl.command_execution_status`, from the last to the first; below 0 it is an error."""
    number: int = ask(event, cl.event_info.COMMAND_EXECUTION_STATUS)
    return number


def start_ns(event: cl.Event) -> int:
    """By the clock of the device, which knows it once the command has ended."""
    nanoseconds: Any = event.get_profiling_info(cl.profiling_info.START)
    return int(nanoseconds)


def end_ns(event: cl.Event) -> int:
    """By the clock of the device, which knows it once the command has ended."""
    nanoseconds: Any = event.get_profiling_info(cl.profiling_info.END)
    return int(nanoseconds)
