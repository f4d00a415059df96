"""What the code for a CPU depends on: its name, its features, and what compiles."""

from __future__ import annotations

from blake3 import blake3

from vyre_driver_cpu.machine import COMPILER, Machine


def device_identity(machine: Machine) -> tuple[str, str, str, str, str]:
    """Backend, device, vendor, driver and compiler, as in `DeviceProfile.identity`.

    Features are too many to read: their digest stands for them. The compiler is the whole of what its text was made by.
    """
    features = str(blake3(machine.features.encode()).hexdigest(4))
    return "cpu", machine.cpu, machine.triple, f"features {features}", COMPILER
