"""Devices as digests, abilities as bits, digests as text."""

from dataclasses import replace

import pytest

from vyre_driver.pipeline.fingerprint import PipelineDeviceFingerprint, PipelineFeatureFlags, hex_encode, hex_short
from vyre_driver.testing.target import generous_profile

FLAGS = PipelineFeatureFlags


def test_text_of_digests() -> None:
    assert hex_encode(bytes([0, 171, 255])) == "00abff"
    assert hex_short(bytes(range(32))) == "0001020304050607"


@pytest.mark.parametrize("field", ["backend", "device", "vendor", "driver_version", "compiler"])
def test_every_part_of_a_device_counts(field: str) -> None:
    one = PipelineDeviceFingerprint.of(generous_profile())
    other = PipelineDeviceFingerprint.of(replace(generous_profile(), **{field: "another"}))
    assert one != other
    assert one.digest() != other.digest()
    assert one.digest() == PipelineDeviceFingerprint.of(generous_profile()).digest()


def test_fields_do_not_run_together() -> None:
    assert (
        PipelineDeviceFingerprint("a", "bc", "", "", "").digest()
        != PipelineDeviceFingerprint("ab", "c", "", "", "").digest()
    )


def test_bits_are_frozen() -> None:
    assert [flag.value for flag in FLAGS] == [1, 2, 4, 8, 16, 32, 64, 128, 256]


@pytest.mark.parametrize(
    ("field", "flag"),
    [
        ("supports_subgroup_ops", FLAGS.SUBGROUP_OPS),
        ("supports_f16", FLAGS.F16),
        ("supports_bf16", FLAGS.BF16),
        ("supports_tensor_cores", FLAGS.TENSOR_CORES),
        ("supports_async_compute", FLAGS.ASYNC_COMPUTE),
        ("supports_indirect_dispatch", FLAGS.INDIRECT_DISPATCH),
    ],
)
def test_flags_are_what_a_device_reports(field: str, flag: PipelineFeatureFlags) -> None:
    bare = replace(generous_profile(), supports_f16=False, supports_bf16=False)
    assert FLAGS.of(bare) == FLAGS.PUSH_CONSTANTS
    assert FLAGS.of(replace(bare, **{field: True})) == FLAGS.PUSH_CONSTANTS | flag
