"""What compiled code depends on of a device: which one it is, and what it does natively. And digests as text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from functools import lru_cache

from blake3 import blake3

from vyre_driver.device.profile import DeviceProfile


def hex_encode(digest: bytes) -> str:
    """A digest as text: lower-case hexadecimal."""
    return digest.hex()


def hex_short(digest: bytes) -> str:
    """Enough of a digest to tell things apart in a report: its first eight bytes."""
    return digest[:8].hex()


@dataclass(frozen=True, slots=True)
class PipelineDeviceFingerprint:
    """A device with the software that turns source into code for it. Code is never shared between different ones."""

    backend: str
    device: str
    vendor: str
    driver: str
    compiler: str

    @classmethod
    def of(cls, profile: DeviceProfile) -> PipelineDeviceFingerprint:
        """The fingerprint of the device with this profile."""
        return cls(profile.backend, profile.device, profile.vendor, profile.driver_version, profile.compiler)

    def digest(self) -> bytes:
        """BLAKE3 of the fields, each with its length."""
        hasher = blake3(b"vyre device")
        for field in (self.backend, self.device, self.vendor, self.driver, self.compiler):
            data = field.encode("utf-8", "surrogateescape")
            hasher.update(len(data).to_bytes(8, "little"))
            hasher.update(data)
        return bytes(hasher.digest())


class PipelineFeatureFlags(Flag):
    """Native abilities that code may use, as one number."""

    SUBGROUP_OPS = auto()
    F16 = auto()
    BF16 = auto()
    TENSOR_CORES = auto()
    ASYNC_COMPUTE = auto()
    PUSH_CONSTANTS = auto()
    """Kernels take numbers by value."""
    INDIRECT_DISPATCH = auto()
    SPECULATION = auto()
    PERSISTENT_THREAD = auto()

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, profile: DeviceProfile) -> PipelineFeatureFlags:
        """What a device reports. Every port passes element counts by value."""
        reported = {
            cls.SUBGROUP_OPS: profile.supports_subgroup_ops,
            cls.F16: profile.supports_f16,
            cls.BF16: profile.supports_bf16,
            cls.TENSOR_CORES: profile.supports_tensor_cores,
            cls.ASYNC_COMPUTE: profile.supports_async_compute,
            cls.PUSH_CONSTANTS: True,
            cls.INDIRECT_DISPATCH: profile.supports_indirect_dispatch,
        }
        flags = cls(0)
        for flag, is_there in reported.items():
            flags |= flag if is_there else cls(0)
        return flags
