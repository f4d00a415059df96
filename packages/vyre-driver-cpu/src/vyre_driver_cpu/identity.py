"""What the code for a CPU depends on: its name, its features, and what compiles."""

from __future__ import annotations

from blake3 import blake3

from vyre_driver_cpu.cpu import COMPILER, Cpu


def device_identity(cpu: Cpu) -> tuple[str, str, str, str, str]:
    """Backend, device, vendor, driver and compiler, as in `DeviceProfile.identity`.

    Features are too many to read: their digest stands for them. The compiler is the whole of what its text was made by.
    """
    features = str(blake3(cpu.features.encode()).hexdigest(4))
    return "cpu", cpu.model, cpu.triple, f"features {features}", COMPILER
