"""Backends and a device port without a device, for tests."""
