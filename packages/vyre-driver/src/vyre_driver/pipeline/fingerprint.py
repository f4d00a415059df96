"""The facts of a device on which compiled code depends: its identity and native capabilities; and digests as text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from functools import lru_cache

from blake3 import blake3

from vyre_driver.device.profile import DeviceProfile


def hex_encode(digest: bytes) -> str:
    """Return a digest as lower-case hexadecimal text."""
    return digest.hex()


def hex_short(digest: bytes) -> str:
    """Return the first eight bytes of a digest as text, for reports."""
    return digest[:8].hex()


@dataclass(frozen=True, slots=True)
class PipelineDeviceFingerprint:
    """The identity of a device and of the software that compiles for it. Code is not shared between different ones."""

    backend: str
    device: str
    vendor: str
    driver: str
    compiler: str

    @classmethod
    def of(cls, profile: DeviceProfile) -> PipelineDeviceFingerprint:
        """Return the fingerprint of the device with a profile."""
        return cls(profile.backend, profile.device, profile.vendor, profile.driver_version, profile.compiler)

    def digest(self) -> bytes:
        """The BLAKE3 digest of the fields, each with its length."""
        hasher = blake3(b"vyre device")
        for field in (self.backend, self.device, self.vendor, self.driver, self.compiler):
            data = field.encode("utf-8", "surrogateescape")
            hasher.update(len(data).to_bytes(8, "little"))
            hasher.update(data)
        return bytes(hasher.digest())


class PipelineFeatureFlags(Flag):
    """The native capabilities that code may use, as one number."""

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
        """Return the capabilities that a device reports. Every port passes element counts by value."""
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
