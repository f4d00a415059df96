"""Backends and a device port without a device, for testing code that takes one."""
